"""The small GPT with its sequence cut: each rank computes its tokens, and only attention looks beyond them.

Idea      Norms, feed-forward networks, embeddings and the loss work on each token by itself. So a rank can run all of
          them on its part of a sequence, unchanged; attention is replaced by one of this package's methods. A position
          embedding needs the token's position, and not its place in the rank's tensor.
          The parameters are on all ranks. Each computes the gradient of the SUM of the losses of its own tokens, and
          these are averaged as in data parallelism: a rank of the sequence is a rank of the batch to a parameter.
          Inputs and targets are cut alike, after the targets were shifted by one: the target of a rank's last token is
          in general on another rank.
          Documents that are packed into one sequence have positions of their own and do not see each other: the loss
          is the sum of what each would have by itself.
Before    activations of b s tokens on one rank
After     of b s / P on each
Sends     What the method sends in each layer, and one all-reduce of the gradients a step.
Exact     Equal to the serial GPT up to rounding, losses and gradients.
Left out  Dropout: a mask that is the same for any number of ranks would have to be drawn by token.
Source    Li, Xue, Baranwal, Li & You, "Sequence Parallelism: Long Sequence Training from System Perspective" (2021).
          Korthikanti et al. (2022) call by the same name what tensor parallelism does to its norms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from ..data_parallel.average import average_gradients
from ..models import GPT, Data, loss_sum
from ..models.gpt import Attention, Block, join_heads, split_heads
from .gather_kv import gather_attention
from .layouts import SequenceLayout
from .ring_attention import ring_attention
from .ulysses import heads_trouble, ulysses_attention

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""attend(q, k, v): q [b, a, s/P, d] and k, v [b, g, s/P, d] of this rank's tokens -> [b, a, s/P, d]."""

METHODS: dict[str, Callable[..., Tensor]] = {
    "ring": ring_attention,
    "ulysses": ulysses_attention,
    "gather": gather_attention,
}


class SequenceParallelAttention(nn.Module):
    """The attention of a block with its own weights, for this rank's tokens. x [b, s/P, h] -> [b, s/P, h]."""

    def __init__(self, serial: Attention, attend: Attend):
        super().__init__()
        self.heads, self.groups, self.attend = serial.heads, serial.groups, attend
        self.qkv, self.out = serial.qkv, serial.out

    def forward(self, x: Tensor) -> Tensor:
        return self.out(join_heads(self.attend(*split_heads(self.qkv(x), self.heads, self.groups))))


class SequenceParallelGPT(nn.Module):
    """A GPT on this rank's tokens: from tokens [b, s/P] to logits [b, s/P, V].

    model   the serial GPT, whose parameters it takes over, and whose blocks are changed in place
    attend  attention over the whole sequence, such as partial(ring_attention, comm, layout=layout)
    layout  over all ranks that share the sequence; rank: this one's number among them
    Raises ValueError if the model has dropout, or a document is longer than the model has positions.
    """

    def __init__(self, model: GPT, layout: SequenceLayout, rank: int, attend: Attend):
        super().__init__()
        if model.config.dropout:
            raise ValueError(f"a sequence that is cut is trained without dropout here, got {model.config.dropout}")
        longest = int(layout.tokens.positions.max()) + 1
        if longest > model.config.length:
            raise ValueError(f"a sequence of {longest} tokens; this model has positions for {model.config.length}")
        self.model = model
        self.positions: Tensor
        self.register_buffer("positions", layout.of(rank).positions, persistent=False)
        for block in model.blocks:
            assert isinstance(block, Block) and isinstance(block.attention, Attention)
            block.attention = SequenceParallelAttention(block.attention, attend)  # type: ignore[assignment]

    def forward(self, tokens: Tensor) -> Tensor:
        """Raises ValueError unless tokens are [b, s/P]."""
        if tokens.dim() != 2 or tokens.shape[1] != len(self.positions):
            raise ValueError(f"this rank holds {len(self.positions)} tokens of a sequence, got {list(tokens.shape)}")
        x = self.model.token(tokens) + self.model.position(self.positions)
        return self.model.head(self.model.norm(self.model.blocks(x)))


def shard_gpt(comm, model: GPT, layout: SequenceLayout, method: str = "ring", **options) -> SequenceParallelGPT:
    """The GPT on this rank's tokens, with a method of METHODS. options: of the method, such as block=64.

    Raises ValueError for an unknown method, or if layout, ranks and heads do not fit.
    """
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r} here; choose one of: {', '.join(METHODS)}")
    if layout.ranks != comm.size:
        raise ValueError(f"a layout over {layout.ranks} ranks, and {comm.size} are in the group")
    if method == "ulysses" and (error := heads_trouble(comm.size, model.config.heads, model.config.groups)):
        raise ValueError(error)
    return SequenceParallelGPT(model, layout, comm.rank, partial(METHODS[method], comm, layout=layout, **options))


def shard(data: Data, layout: SequenceLayout, rank: int) -> Data:
    """A rank's tokens and targets [b, s/P] of sequences x, y [b, s] whose targets are shifted already."""
    return Data(layout.shard(data.x, rank, 1), layout.shard(data.y, rank, 1))


def gradients(comm, model: nn.Module, data: Data) -> float:
    """Set each parameter's .grad to the gradient of the mean loss over all ranks' tokens; return that loss.

    data: this rank's. The mean is over the targets that are not IGNORED. Collective.
    """
    model.zero_grad()
    total, count = loss_sum(model, data)
    total.backward()
    everywhere = average_gradients(comm, model.parameters(), count)
    return comm.allreduce(float(total.detach())) / everywhere
