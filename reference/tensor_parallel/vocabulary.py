"""A vocabulary on P ranks: the embedding, and a cross entropy that never has all logits of a token in one place.

Idea      Rank r has the embeddings of V / P tokens. Of the others it makes zeros, and the sum over the ranks has each
          token's vector. The last layer is that table again: rank r computes the logits of its own V / P tokens.
          The cross entropy of a token with logits z and target y is log(sum of exp z) - z_y. Of the logits it needs no
          more than a maximum (so that exp does not overflow), a sum, and z_y, which one rank has: three numbers a
          token, each added up (or maximised) over the ranks.
              dz = softmax(z) - [column is y]     each rank for its columns, without a message
Before    all-gather the logits: V elements a token; with s = 4096, b = 1, V = 128,000 in float32 that is 2 GB
After     3 elements a token, and of logits V / P a token
Sends     Embedding: forward an all-reduce of b s h elements. Cross entropy: forward all-reduces of b s (maximum) and of
          2 b s elements (sum and target); backward nothing.
Exact     A vocabulary that P does not divide is padded with rows of zeros. Their logits are 0, not minus infinity, so
          each would add exp(0) to the sum: they are left out of maximum and sum here.
Source    Shoeybi et al., "Megatron-LM" (2019), section 3.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import mpi
from ..models import IGNORED
from .mappings import all_reduce, scatter_total, total
from .shards import PADDING, equal_parts, shard

TOKENS = 1


class VocabularyParallelEmbedding(nn.Module):
    """This rank's rows of an embedding. Tokens [b, s] -> [b, s, h], the same on all ranks; s / P with `sequence`.

    serial: the embedding, or the last layer, whose weight [V, h] has a row a token, too.
    pad: add rows of zeros if P does not divide the vocabulary; else ValueError.
    """

    def __init__(self, comm, serial: nn.Embedding | nn.Linear, sequence: bool = False, pad: bool = False):
        super().__init__()
        own = equal_parts(comm, len(serial.weight), pad, "tokens of the vocabulary")
        self.comm, self.sequence = comm, sequence
        self.weight = shard(serial.weight, 0, own)
        self.first, self.tokens = comm.rank * len(own), sum(place != PADDING for place in own)

    def forward(self, tokens: Tensor) -> Tensor:
        """Each token's row, from the rank that has it."""
        mine, place = own_targets(tokens, self.first, self.tokens)
        rows = F.embedding(place, self.weight) * mine.unsqueeze(-1)
        return scatter_total(self.comm, rows, TOKENS) if self.sequence else total(self.comm, rows)


def own_targets(y: Tensor, first: int, count: int) -> tuple[Tensor, Tensor]:
    """Which of the tokens y are this rank's, first ... first + count - 1, and their places in its part; else 0."""
    mine = (y >= first) & (y < first + count)
    return mine, torch.where(mine, y - first, 0)


class CrossEntropy(torch.autograd.Function):
    """The sum of log(sum exp z) - z_y over the targets that count; z [n, own columns] of this rank."""

    @staticmethod
    def forward(ctx, comm, z: Tensor, y: Tensor, first: int, count: int) -> Tensor:
        """y [n], the same on all ranks; the first `count` columns of z are those of the tokens from `first` on."""
        real = z[:, :count]
        largest = real.amax(1) if count else z.new_full((len(z),), -torch.inf)
        comm.Allreduce(mpi.IN_PLACE, largest, mpi.MAX)
        mine, place = own_targets(y, first, count)
        powers = (real - largest[:, None]).exp()
        target = torch.where(mine, z.gather(1, place[:, None]).squeeze(1) - largest, 0.0)
        sums, target = all_reduce(comm, torch.stack([powers.sum(1), target]), 0)
        counts = y != IGNORED
        ctx.width = z.shape[1]
        ctx.save_for_backward(powers / sums[:, None], mine, place, counts)
        return ((sums.log() - target) * counts).sum()

    @staticmethod
    def backward(ctx, upstream: Tensor):
        """softmax(z) - 1 at the target, and 0 for padding and for targets that are ignored."""
        softmax, mine, place, counts = ctx.saved_tensors
        dz = F.pad(softmax, (0, ctx.width - softmax.shape[1]))
        dz[mine, place[mine]] -= 1
        return None, dz * (counts[:, None] * upstream), None, None, None


def cross_entropy_sum(comm, logits: Tensor, y: Tensor, first: int, count: int) -> Tensor:
    """The SUM of the cross entropy (nats) over the targets y [...] that are not IGNORED, on every rank.

    logits: this rank's columns [..., V / P], of which the first `count` are those of the tokens from `first` on, and
    the rest padding. As models.cross_entropy_sum of all columns.
    """
    return CrossEntropy.apply(comm, logits.flatten(0, -2), y.flatten(), first, count)
