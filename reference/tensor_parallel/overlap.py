"""Asynchronous tensor parallelism: a matrix product that begins before all of its input is there.

Idea      Sequence parallelism puts an all-gather before a matrix product and a reduce-scatter after one. Cut into P
          blocks of tokens, each block can be multiplied while the next one travels around the ring. And a term of a
          sum can be computed while the sum of those before it travels. So the communication of P - 1 blocks hides
          behind P - 1 products, as far as it is not longer than they are.

              gather, then multiply  ccc ccc ccc MMM MMM MMM MMM
              block by block         MMM MMM MMM MMM               P = 4: own block first
                                     ccc ccc ccc

Before    (P - 1) t + P c seconds; t: a block from neighbour to neighbour, c: its product
After     (P - 1) max(t, c) + c
Sends     As all-gather and reduce-scatter by a ring: (P - 1) / P n each. The backward pass of gather_matmul gathers X
          again, one more (P - 1) / P n, in place of keeping all of it.
Exact     The same products as before, in blocks. With P blocks each product is smaller, and a device may do less a
          second. Real ranks under MPI progress inside MPI calls only: on two cores this hides next to nothing.
Source    Wang et al., "Overlap Communication with Dependent Computation via Decomposition in Large Deep Learning
          Models" (ASPLOS 2023); PyTorch calls it async tensor parallelism (symmetric memory, 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import mpi
from .mappings import blocks

TOKENS = 1


def ring_blocks(comm, x: Tensor) -> Iterator[tuple[int, Tensor]]:
    """(rank, its x), for this rank first; while a block is used, the next one travels."""
    P, r, tag = comm.size, comm.rank, mpi.fresh_tag(comm)
    block = x.detach().contiguous()
    for step in range(P):
        requests = []
        if step < P - 1:
            coming = torch.empty_like(block)
            requests = [comm.Irecv(coming, (r - 1) % P, tag), comm.Isend(block, (r + 1) % P, tag)]
        yield (r - step) % P, block
        mpi.waitall(requests)
        if requests:
            block = coming


def ring_sum(comm, term: Callable[[int], Tensor]) -> Tensor:
    """The sum over all ranks of term(r), r this rank; while a sum travels, the next term is computed.

    The sum for rank q begins at rank q + 1 and goes around the ring to q.
    """
    P, r, tag = comm.size, comm.rank, mpi.fresh_tag(comm)
    so_far = term((r - 1) % P)
    for step in range(1, P):
        coming, so_far = torch.empty_like(so_far), so_far.contiguous()
        requests = [comm.Irecv(coming, (r - 1) % P, tag), comm.Isend(so_far, (r + 1) % P, tag)]
        own = term((r - 1 - step) % P)
        mpi.waitall(requests)
        so_far = coming.add_(own)
    return so_far


def weight_gradient(dy: Tensor, x: Tensor, so_far: Tensor | None = None) -> Tensor:
    """dY^T X, summed over sequences and tokens: [b, s, outputs], [b, s, inputs] -> [outputs, inputs].

    so_far: of other blocks, to which it is added in place.
    """
    dy, x = dy.flatten(0, -2).T, x.flatten(0, -2)
    return dy @ x if so_far is None else so_far.addmm_(dy, x)


class GatherMatmul(torch.autograd.Function):
    """Y = gather(X) A, block by block. x [b, s / P, inputs], weight [outputs, inputs] -> [b, s, outputs]."""

    @staticmethod
    def forward(ctx, comm, x: Tensor, weight: Tensor) -> Tensor:
        """Each block of tokens is multiplied as soon as it is here."""
        ctx.comm = comm
        ctx.save_for_backward(x, weight)
        parts = [x.new_empty(0)] * comm.size
        for rank, block in ring_blocks(comm, x):
            parts[rank] = F.linear(block, weight)
        return torch.cat(parts, TOKENS)

    @staticmethod
    def backward(ctx, dy: Tensor):
        """dX = the own block of the sum of dY A^T; dA from X, which comes around again."""
        (x, weight), comm = ctx.saved_tensors, ctx.comm
        parts = blocks(dy, comm.size, TOKENS)
        dx = ring_sum(comm, lambda rank: parts[rank] @ weight)
        dw = None
        for rank, block in ring_blocks(comm, x):
            dw = weight_gradient(parts[rank], block, dw)
        return None, dx, dw


class MatmulScatter(torch.autograd.Function):
    """Y = this rank's tokens of the sum of X_r A_r. x [b, s, own inputs], weight [n, own inputs] -> [b, s / P, n]."""

    @staticmethod
    def forward(ctx, comm, x: Tensor, weight: Tensor) -> Tensor:
        """The term for each rank is computed while the sum of those before it travels."""
        ctx.comm = comm
        ctx.save_for_backward(x, weight)
        parts = blocks(x, comm.size, TOKENS)
        return ring_sum(comm, lambda rank: F.linear(parts[rank], weight))

    @staticmethod
    def backward(ctx, dy: Tensor):
        """dX = gather(dY) A^T, block by block, and dA from the same blocks."""
        (x, weight), comm = ctx.saved_tensors, ctx.comm
        parts, dx, dw = blocks(x, comm.size, TOKENS), [x.new_empty(0)] * comm.size, None
        for rank, block in ring_blocks(comm, dy):
            dx[rank] = block @ weight
            dw = weight_gradient(block, parts[rank], dw)
        return None, torch.cat(dx, TOKENS), dw


class CopyMatmul(torch.autograd.Function):
    """Y = X A; backward, dX is added up over the ranks while dA is computed."""

    @staticmethod
    def forward(ctx, comm, x: Tensor, weight: Tensor) -> Tensor:
        """As it is."""
        ctx.comm = comm
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight)

    @staticmethod
    def backward(ctx, dy: Tensor):
        """dX needs the other ranks, dA does not."""
        x, weight = ctx.saved_tensors
        dx = dy @ weight
        request = ctx.comm.Iallreduce(mpi.IN_PLACE, dx)
        dw = weight_gradient(dy, x)
        mpi.waitall([request])
        return None, dx, dw


def gather_matmul(comm, x: Tensor, weight: Tensor) -> Tensor:
    """All-gather along the tokens, then multiply: [b, s / P, inputs] -> [b, s, outputs]."""
    return GatherMatmul.apply(comm, x, weight)


def matmul_scatter(comm, x: Tensor, weight: Tensor) -> Tensor:
    """Multiply, then reduce-scatter along the tokens: [b, s, own inputs] -> [b, s / P, outputs]."""
    return MatmulScatter.apply(comm, x, weight)


def copy_matmul(comm, x: Tensor, weight: Tensor) -> Tensor:
    """Multiply; the input's gradient is all-reduced behind the weight's. [..., inputs] -> [..., outputs]."""
    return CopyMatmul.apply(comm, x, weight)
