"""Ulysses: an all-to-all turns a part of the sequence with all heads into the whole sequence with a part of the heads.

Idea      Heads do not look at each other. So a rank that has all tokens of a / P heads can compute their attention by
          itself, with any kernel. One all-to-all each takes q, k and v there, another one takes the output back:

              before        token 0 1 2 3            after         token 0 1 2 3
              head 0        rank  0 0 1 1            head 0        rank  0 0 0 0
              head 1        rank  0 0 1 1            head 1        rank  1 1 1 1

          Backward, the same four in reverse. The mask is no trouble: each rank has the whole triangle, of fewer heads,
          so that all ranks have the same work in any layout.
          With fewer heads of keys and values than ranks, each is sent to the P / g ranks whose queries use it. The sum
          of their gradients is taken once, where the copies were made.
Before    softmax(q k^T) v for a heads on one rank
After     on each rank the whole sequence, for a / P heads
Sends     (P - 1) / P of this rank's q, k, v and o forward, and of their gradients backward: 8 all-to-alls of P - 1
          messages. For each rank that falls with P, where a ring's and an all-gather's bytes do not.
Price     P is at most the number of heads. k and v count P heads if they have fewer.
Source    Jacobs et al., "DeepSpeed Ulysses: System Optimizations for Enabling Training of Extreme Long Sequence
          Transformer Models" (2023).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..collectives import alltoall
from .arguments import check, misplaced
from .blockwise import BLOCK, attention
from .layouts import SequenceLayout


def to_heads(comm, x: Tensor) -> Tensor:
    """x [b, a, s/P, d] of all heads -> [b, a/P, s, d] of all tokens, in rank order."""
    b, a, c, d = x.shape
    send = x.reshape(b, comm.size, a // comm.size, c, d).transpose(0, 1).contiguous()  # [P, b, a/P, s/P, d]
    come = alltoall(comm, send, torch.empty_like(send))
    return come.permute(1, 2, 0, 3, 4).flatten(2, 3)


def to_sequence(comm, x: Tensor) -> Tensor:
    """x [b, a/P, s, d] of all tokens -> [b, a, s/P, d] of all heads: undoes `to_heads`."""
    send = x.unflatten(2, (comm.size, -1)).permute(2, 0, 1, 3, 4).contiguous()  # [P, b, a/P, s/P, d]
    come = alltoall(comm, send, torch.empty_like(send))
    return come.transpose(0, 1).flatten(1, 2)


class AllToAll(torch.autograd.Function):
    """One of the two, whose gradient is the other one's."""

    @staticmethod
    def forward(ctx, comm, x, there, back):
        """there(comm, x)."""
        ctx.comm, ctx.there, ctx.back = comm, there, back
        return there(comm, x.detach())

    @staticmethod
    def backward(ctx, dy):
        """The gradient goes the way back."""
        return None, ctx.back(ctx.comm, dy), None, None


def across_heads(comm, q: Tensor, k: Tensor, v: Tensor, attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
    """attend(q, k, v) for this rank's heads and the tokens of all ranks of `comm`, in rank order.

    q [b, a, s/P, d] and k, v [b, g, s/P, d] of this rank's tokens; so is what is returned, [b, a, s/P, d].
    """
    copies = max(comm.size // k.shape[1], 1)  # of each head of keys and values, if there are fewer than ranks
    k, v = (x.repeat_interleave(copies, dim=1) if copies > 1 else x for x in (k, v))
    o = attend(*(AllToAll.apply(comm, x, to_heads, to_sequence) for x in (q, k, v)))
    return AllToAll.apply(comm, o, to_sequence, to_heads)


def heads_trouble(ranks: int, heads: int, groups: int) -> str:
    """Why heads cannot be dealt out to so many ranks, in words; "" if they can."""
    if heads % ranks:
        return f"{ranks} ranks cannot share {heads} heads alike: take a number of ranks that divides the heads"
    if groups % ranks and ranks % groups:
        return f"{ranks} ranks cannot share {groups} heads of keys and values: one of the numbers must divide the other"
    return ""


def ulysses_attention(
    comm,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: SequenceLayout,
    causal: bool = True,
    block: int = BLOCK,
    checked: bool = True,
) -> Tensor:
    """This rank's part of attention over the whole sequence, [b, a, s/P, d]. Arguments as for `ring_attention`.

    Raises ValueError on every rank also if P does not divide the heads, or neither of P and g the other.
    """
    if checked:
        error = misplaced(comm, q, k, v, layout) or heads_trouble(comm.size, q.shape[1], k.shape[1])
        check(comm, q, k, v, layout, causal, block, error=error)
    tokens = layout.merged()
    return across_heads(comm, q, k, v, lambda q, k, v: attention(q, k, v, tokens, causal=causal, block=block))
