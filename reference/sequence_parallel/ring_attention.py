"""Ring attention: queries stay, keys and values travel around the ring, and the next block comes while one computes.

Idea      Rank r holds a part of the sequence. Attention over all keys is a merge of attentions over blocks of keys
          (online_softmax.py), so the blocks may come one after the other:

              step     rank 0       rank 1       rank 2
              0        q0 (k0 v0)   q1 (k1 v1)   q2 (k2 v2)     meanwhile each k v goes to the right
              1        q0 (k2 v2)   q1 (k0 v0)   q2 (k1 v1)
              2        q0 (k1 v1)   q1 (k2 v2)   q2 (k0 v0)

          Backward, k and v travel again. With each block travels the sum of its dk and dv, which every rank it visits
          adds to: it leaves one step behind the block, and its last hop brings it home. A rank keeps what its own
          queries add to its own block, so that sum has P - 1 hops and not P.
          Causal blocks that no query of a rank may see are handed on and not computed. How much that saves depends on
          the layout (layouts.py): contiguous, the last rank computes all of its P blocks, and the others wait for it.
Before    softmax(q k^T) v over s tokens on one rank
After     on each rank s / P queries, k and v of its own and of two others, and the scores of one tile
Sends     Forward P - 1 messages of 2 n bytes, with n the bytes of k on a rank; backward P - 1 more, and P - 1 with
          the sums of dk and dv, in float32 or better.
Price     A block is hidden behind the one before it if its transfer takes less time than its computing: see
          `volume.overlapped`. Of the backward pass the last hop home is never hidden.
Exact     Equal to attention over the whole sequence up to rounding: blocks are merged in an order that depends on r.
Left out  Leaving out hops whose receivers need nothing: contiguous and causal, half of all are such.
Source    Liu, Zaharia & Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite Context" (2023).
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import mpi
from ..tensor_parallel.overlap import ring_blocks
from .arguments import check
from .blockwise import BLOCK, accumulator, attend, attend_backward
from .layouts import SequenceLayout


def neighbours(comm) -> tuple[int, int]:
    """(left, right): from whom blocks come, and to whom they go."""
    return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size


class RingAttention(torch.autograd.Function):
    """Attention over the keys of all ranks, which travel."""

    @staticmethod
    def forward(ctx, comm, q, k, v, layout, causal, block):
        """o [b, a, s/P, d]."""
        ctx.comm, ctx.causal = comm, causal
        ctx.tiles = [layout.tiles(rank, block) for rank in range(comm.size)]
        blocks = ((ctx.tiles[source], kv) for source, kv in ring_blocks(comm, torch.stack([k, v])))
        o, L = attend(q, ctx.tiles[comm.rank], blocks, causal)
        o = o.to(q.dtype)
        ctx.save_for_backward(q, k, v, o, L)
        return o

    @staticmethod
    def backward(ctx, dO):
        """dq, dk and dv."""
        q, k, v, o, L = ctx.saved_tensors
        comm, kind = ctx.comm, accumulator(q.dtype)
        sums = TravellingSums(comm, k.new_empty(2, *k.shape, dtype=kind))
        blocks = ((ctx.tiles[source], kv) for source, kv in ring_blocks(comm, torch.stack([k, v])))
        dq = torch.zeros_like(q, dtype=kind)
        for part, dkv in attend_backward(q, o, L, dO, ctx.tiles[comm.rank], blocks, ctx.causal):
            dq += part
            sums.add(dkv)
        dk, dv = sums.home()
        return None, *(grad.to(q.dtype) for grad in (dq, dk, dv)), None, None, None


class TravellingSums:
    """The sums of dk and dv that follow their blocks around the ring, one step behind: `add` in each step, then `home`.

    come: where the sum from the left may be received.
    """

    def __init__(self, comm, come: Tensor):
        self.comm, self.tag, self.step = comm, mpi.fresh_tag(comm), 0
        self.left, self.right = neighbours(comm)
        self.come, self.coming, self.going = come, [], []
        self.own: Tensor  # from step 0

    def add(self, dkv: Tensor) -> None:
        """Send on the sum for the block of this step, with what this rank adds to it: dkv, which is then scratch."""
        if self.step == 0:
            self.own = dkv
        else:  # in step 1 the block comes straight from its owner, and there is no sum yet
            self._take(dkv)
            mpi.waitall(self.going)
            self.sent, self.going = dkv, [self.comm.Isend(dkv, self.right, self.tag)]  # kept until it has arrived
        self.step += 1
        if self.step > 1:  # posted before the next block is computed, so that it comes meanwhile
            self.coming = [self.comm.Irecv(self.come, self.left, self.tag)]

    def home(self) -> Tensor:
        """The sum over all ranks of this rank's own dk and dv."""
        self._take(self.own)
        mpi.waitall(self.going)
        return self.own

    def _take(self, dkv: Tensor) -> None:
        """Add the sum that is coming, if there is one."""
        if self.coming:
            mpi.waitall(self.coming)
            dkv += self.come


def ring_attention(
    comm,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layout: SequenceLayout,
    causal: bool = True,
    block: int = BLOCK,
    checked: bool = True,
) -> Tensor:
    """This rank's part of attention over the whole sequence, [b, a, s/P, d]; differentiable.

    q [b, a, s/P, d] and k, v [b, g, s/P, d]: those of the tokens that the layout gives to this rank.
    block: tokens of a tile. checked: ask first whether all ranks call it alike. Collective, forward and backward.
    Raises ValueError on every rank for shapes that do not fit the layout or differ between ranks.
    """
    if checked:
        check(comm, q, k, v, layout, causal, block)
    return RingAttention.apply(comm, q, k, v, layout, causal, block)
