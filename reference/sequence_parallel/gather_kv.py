"""All-gather of keys and values: each rank collects those of the whole sequence, and computes its own queries.

Idea      The simplest form of context parallelism, and that of Llama 3: with grouped heads, k and v are much smaller
          than q, and to collect them takes time that grows with s, where attention takes time that grows with s^2.
          Any mask is easy, for all keys are there at once. Backward, k and v are collected again, and a
          reduce-scatter takes the sums of dk and dv to the ranks that hold those tokens.
          It differs from ring attention only in where the blocks come from, and where their gradients go.
Before    softmax(q k^T) v over s tokens on one rank
After     on each rank s / P queries, and for the time of a pass the k and v of all s tokens
Sends     What a ring sends: forward an all-gather of 2 n bytes a rank, (P - 1) 2 n; backward that and a reduce-scatter
          of as much, in float32 or better.
Price     Nothing is hidden: the all-gather is done before computing begins. The k and v of the whole sequence.
Left out  Overlap with the projections of q, or head by head.
Source    Grattafiori et al., "The Llama 3 Herd of Models" (2024), section 3.3.2.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..collectives import allgather, reduce_scatter
from .arguments import check
from .blockwise import BLOCK, accumulator, attend, attend_backward
from .layouts import SequenceLayout


def collect(comm, k: Tensor, v: Tensor) -> Tensor:
    """Keys and values of all ranks, [P, 2, b, g, s/P, d]."""
    every = k.new_empty(comm.size, 2, *k.shape)
    every[comm.rank, 0], every[comm.rank, 1] = k, v
    return allgather(comm, every)


class GatherKV(torch.autograd.Function):
    """Attention over the keys of all ranks, which are collected."""

    @staticmethod
    def forward(ctx, comm, q, k, v, layout, causal, block):
        """o [b, a, s/P, d]."""
        ctx.comm, ctx.causal = comm, causal
        ctx.tiles = [layout.tiles(rank, block) for rank in range(comm.size)]
        o, L = attend(q, ctx.tiles[comm.rank], zip(ctx.tiles, collect(comm, k, v)), causal)
        o = o.to(q.dtype)
        ctx.save_for_backward(q, k, v, o, L)
        return o

    @staticmethod
    def backward(ctx, dO):
        """dq, dk and dv."""
        q, k, v, o, L = ctx.saved_tensors
        comm, kind = ctx.comm, accumulator(q.dtype)
        dq = torch.zeros_like(q, dtype=kind)
        every = k.new_empty(comm.size, 2, *k.shape, dtype=kind)
        blocks = zip(ctx.tiles, collect(comm, k, v))
        parts = attend_backward(q, o, L, dO, ctx.tiles[comm.rank], blocks, ctx.causal)
        for source, (part, dkv) in enumerate(parts):
            dq += part
            every[source] = dkv
        dk, dv = reduce_scatter(comm, every).view(2, *k.shape)
        return None, *(grad.to(q.dtype) for grad in (dq, dk, dv)), None, None, None


def gather_attention(
    comm,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: SequenceLayout,
    causal: bool = True,
    block: int = BLOCK,
    checked: bool = True,
) -> Tensor:
    """This rank's part of attention over the whole sequence, [b, a, s/P, d]. Arguments as for `ring_attention`."""
    if checked:
        check(comm, q, k, v, layout, causal, block)
    return GatherKV.apply(comm, q, k, v, layout, causal, block)
