"""A GPT on P ranks: embedding, blocks and loss, each cut as its file says. Equal to the serial one on any number.

Before    every rank has Psi parameters, and the activations of all heads, all 4 h units, all V logits
After     Psi / P but for norms, positions and biases of h elements; of what is inside the layers 1 / P; of what is
          between them all (or 1 / P, with `sequence`)
Sends     Forward: an all-reduce for the embedding, two a layer, and two small ones for the loss. Backward: two a layer
          and one before the head. volume.py has the bytes.
Exact     All ranks of the group must be given the same tokens: each then computes one part of the same sums. With
          different ones the sums belong to no batch, and no error tells of it; `check` compares them in each forward
          pass. (Ranks with different batches are data-parallel: give each such group a communicator of its own.)
Source    Shoeybi et al., "Megatron-LM" (2019), section 3.
Try       mpirun -n 2 python -m reference.train --model gpt --tensor 2
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import torch.nn.functional as F
from torch import Tensor, nn

from .. import models
from ..agreement import agree
from ..models import Data
from .attention import Attention
from .dropout import Masks
from .layers import ColumnParallelLinear, RowParallelLinear
from .mappings import blocks, copy, gather, gather_total
from .sequence import LayerNorm
from .vocabulary import VocabularyParallelEmbedding, cross_entropy_sum

TOKENS = 1


class FeedForward(nn.Sequential):
    """A column-parallel layer, GELU, a row-parallel layer. [b, s, h] -> [b, s, h]; with `sequence` s / P."""

    def __init__(
        self, comm, serial: models.gpt.FeedForward, sequence: bool = False, overlap: bool = False, pad: bool = False
    ):
        how: Any = {"sequence": sequence, "overlap": overlap, "pad": pad}
        wide, _, narrow = cast(Any, serial)
        super().__init__(ColumnParallelLinear(comm, wide, **how), nn.GELU(), RowParallelLinear(comm, narrow, **how))


class Block(nn.Module):
    """This rank's part of a serial models.gpt.Block. [b, s, h] -> [b, s, h]; with `sequence` s / P."""

    def __init__(
        self,
        comm,
        serial: models.gpt.Block,
        masks: Masks,
        sequence: bool = False,
        overlap: bool = False,
        pad: bool = False,
    ):
        super().__init__()
        self.comm, self.sequence, self.masks, self.p = comm, sequence, masks, serial.dropout.p
        self.norm1, self.norm2 = LayerNorm(comm, serial.norm1, sequence), LayerNorm(comm, serial.norm2, sequence)
        self.attention = Attention(comm, serial.attention, masks, sequence, overlap, pad)
        self.feed_forward = FeedForward(comm, serial.feed_forward, sequence, overlap, pad)

    def forward(self, x: Tensor) -> Tensor:
        """x + attention(norm(x)), then x + feed_forward(norm(x))."""
        x = x + self.dropped(self.attention(self.norm1(x)))
        return x + self.dropped(self.feed_forward(self.norm2(x)))

    def dropped(self, x: Tensor) -> Tensor:
        """Dropout of what is the same on all ranks, or of this rank's tokens."""
        return drop_tokens(self.comm, self.masks, x, self.p if self.training else 0.0, self.sequence)


def drop_tokens(comm, masks: Masks, x: Tensor, p: float, sequence: bool) -> Tensor:
    """Dropout of x [b, s, h], the same on all ranks; with `sequence` of this rank's tokens, [b, s / P, h]."""
    if not sequence:
        return masks.dropout(x, p)
    s = x.shape[TOKENS]
    return masks.dropout(x, p, TOKENS, range(comm.rank * s, (comm.rank + 1) * s), comm.size * s)


class GPT(nn.Module):
    """This rank's part of a serial models.GPT; `loss_sum(data)` is the loss of the whole.

    masks     where dropout comes from; Masks(comm) unless given
    sequence  cut what is between the layers along the tokens (sequence.py); P must divide their number
    overlap   communicate while computing (overlap.py)
    pad       what P does not divide (heads, units, vocabulary) is padded with zeros; else ValueError
    check     compare the ranks' tokens before each forward pass, with one small all-gather

    Parameters have the names of the serial model's; shards.whole(comm, parameter) is the serial one.
    Raises ValueError on every rank for what cannot be shared, and if `check` finds that the tokens differ.
    """

    def __init__(
        self,
        comm,
        serial: models.GPT,
        masks: Masks | None = None,
        sequence: bool = False,
        overlap: bool = False,
        pad: bool = False,
        check: bool = True,
    ):
        super().__init__()
        self.comm, self.config, self.sequence, self.check = comm, serial.config, sequence, check
        self.masks, self.p = Masks(comm) if masks is None else masks, serial.dropout.p
        self.token = VocabularyParallelEmbedding(comm, serial.token, sequence, pad)
        self.position = nn.Embedding.from_pretrained(serial.position.weight.detach().clone(), freeze=False)
        self.blocks = nn.Sequential(
            *[Block(comm, cast(Any, block), self.masks, sequence, overlap, pad) for block in serial.blocks]
        )
        self.norm = LayerNorm(comm, serial.norm, sequence)
        self.head = self.token if serial.config.tied else VocabularyParallelEmbedding(comm, serial.head, pad=pad)

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [b, s], the same on all ranks -> this rank's columns of the logits, [b, s, V / P]."""
        if self.check:
            agree(self.comm, "the tokens of a tensor-parallel group", [tokens.shape, fingerprint(tokens)])
        return self.tell(self.blocks(self.embed(tokens)))

    def embed(self, tokens: Tensor) -> Tensor:
        """Before the blocks: tokens [b, s] -> [b, s, h], with `sequence` [b, s / P, h]."""
        x, positions = self.token(tokens), self.positions(tokens.shape[1])
        own = blocks(copy(self.comm, positions), self.comm.size, 0)[self.comm.rank] if self.sequence else positions
        return drop_tokens(self.comm, self.masks, x + own, self.p if self.training else 0.0, self.sequence)

    def positions(self, s: int) -> Tensor:
        """The position embedding of each of s tokens, [s, h]. Raises ValueError if there are not so many."""
        if s > self.config.length:
            raise ValueError(f"a sequence of {s} tokens; this model has positions for {self.config.length}")
        return self.position.weight[:s]

    def tell(self, x: Tensor) -> Tensor:
        """After the blocks: what they put out -> this rank's columns of the logits, [b, s, V / P]."""
        x = self.norm(x)
        x = gather_total(self.comm, x, TOKENS) if self.sequence else copy(self.comm, x)
        return F.linear(x, self.head.weight)

    def loss(self, logits: Tensor, y: Tensor) -> Tensor:
        """The SUM of the cross entropy over the targets y that are not IGNORED, on every rank, from its columns."""
        return cross_entropy_sum(self.comm, logits, y, self.token.first, self.token.tokens)

    def loss_sum(self, data: Data) -> tuple[Tensor, int]:
        """The SUM of the cross entropy over the targets that are not IGNORED, on every rank, and their number."""
        return self.loss(self(data.x), data.y), models.loss.targets(data)

    def logits(self, tokens: Tensor) -> Tensor:
        """All logits, [b, s, V], on every rank: to compare and to generate, not to train."""
        return gather(self.comm, self(tokens))[..., : self.config.vocabulary]


def fingerprint(tokens: Tensor) -> str:
    """What tells these tokens from others."""
    return hashlib.sha256(tokens.cpu().contiguous().numpy().tobytes()).hexdigest()[:16]
