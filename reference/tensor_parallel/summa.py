"""SUMMA: a matrix product on q x q ranks, each with one block of A, B and C, and never more than one of each besides.

Idea      C = A B is a sum of q products: column k of blocks of A times row k of blocks of B. In step k the ranks that
          have A_ik broadcast it along their row i, those that have B_kj along their column j; each rank multiplies.
          The gradients are products of the same kind, with a transpose, and need no transposed copies: dA = dC B^T
          broadcasts B and sums along rows, dB = A^T dC broadcasts A and sums along columns.

              row 0   A00 A01      B00 B01        step 0: A00 along row 0, A10 along row 1, B00 and B01 down
              row 1   A10 A11      B10 B11        step 1: A01, A11 along their rows, B10 and B11 down

Before    one-dimensional tensor parallelism: X whole on every rank, A cut, and a sum of whole outputs
After     X, A and Y are all cut into P blocks: nothing is kept twice
Sends     Each of the q steps sends a block of A to q - 1 ranks and one of B to q - 1: on average over ranks and all
          steps (q - 1) / P of the bytes of A and as much of B. Each of the two gradients as much again.
Price     The weights travel, too: this pays where activations are larger than weights. volume.py compares.
Exact     q divides both dimensions of each matrix, and P is q^2; else ValueError on every rank.
Source    van de Geijn and Watts, "SUMMA" (1997); Xu et al., "An Efficient 2D Method for Training Super-Large Deep
          Learning Models" (2021), who use it for linear layers.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree


class Grid:
    """q x q ranks of a communicator: rank i q + j is in row i and column j, with a communicator for each."""

    def __init__(self, comm):
        self.q = math.isqrt(comm.size)
        if self.q**2 != comm.size:
            raise ValueError(f"{comm.size} ranks make no square grid: take {self.q**2} or {(self.q + 1) ** 2}")
        self.comm = comm
        self.i, self.j = divmod(comm.rank, self.q)
        self.row = comm.Split(self.i, self.j)  # its ranks are numbered by column
        self.column = comm.Split(self.q + self.j, self.i)

    def block(self, whole: Tensor) -> Tensor:
        """This rank's block of a matrix that it has whole. Raises ValueError unless q divides both dimensions."""
        if whole.shape[0] % self.q or whole.shape[1] % self.q:
            raise ValueError(f"{self.q} x {self.q} ranks cannot cut a matrix of shape {tuple(whole.shape)} evenly")
        return whole.chunk(self.q, 0)[self.i].chunk(self.q, 1)[self.j].clone()

    def check(self, a: Tensor, b: Tensor, inner: tuple[int, int]) -> None:
        """Raise ValueError on every rank if blocks differ in shape, or do not fit: `inner` are the sizes that meet."""
        wrong = "" if inner[0] == inner[1] else f"blocks {tuple(a.shape)} and {tuple(b.shape)} do not fit together"
        agree(self.comm, "the blocks of a matrix", [tuple(a.shape), tuple(b.shape)], error=wrong)


def broadcast(comm, block: Tensor, root: int) -> Tensor:
    """The root's block, on every rank of comm."""
    block = block.detach().contiguous() if comm.rank == root else block.new_empty(block.shape)
    comm.Bcast(block, root)
    return block


def summed(comm, term: Tensor, root: int) -> Tensor | None:
    """The sum of all ranks' terms at the root; None elsewhere."""
    result = torch.empty_like(term) if comm.rank == root else None
    comm.Reduce(term.contiguous(), result, mpi.SUM, root)
    return result


def multiply(grid: Grid, a: Tensor, b: Tensor) -> Tensor:
    """C = A B. Blocks a [m/q, k/q], b [k/q, n/q] -> [m/q, n/q]."""
    grid.check(a, b, (a.shape[1], b.shape[0]))
    c = a.new_zeros(a.shape[0], b.shape[1])
    for k in range(grid.q):
        c += broadcast(grid.row, a, k) @ broadcast(grid.column, b, k)
    return c


def multiply_transposed(grid: Grid, a: Tensor, b: Tensor) -> Tensor:
    """C = A B^T. Blocks a [m/q, k/q], b [n/q, k/q] -> [m/q, n/q]: C_ik is the sum over row i of A_ij B_kj^T."""
    grid.check(a, b, (a.shape[1], b.shape[1]))
    found = [summed(grid.row, a @ broadcast(grid.column, b, k).T, k) for k in range(grid.q)]
    return found[grid.j]


def transposed_multiply(grid: Grid, a: Tensor, b: Tensor) -> Tensor:
    """C = A^T B. Blocks a [k/q, m/q], b [k/q, n/q] -> [m/q, n/q]: C_kj is the sum over column j of A_ik^T B_ij."""
    grid.check(a, b, (a.shape[0], b.shape[0]))
    found = [summed(grid.column, broadcast(grid.row, a, k).T @ b, k) for k in range(grid.q)]
    return found[grid.i]


class Summa(torch.autograd.Function):
    """Y = X A on a grid, with its gradients: all blocks stay where they are."""

    @staticmethod
    def forward(ctx, grid: Grid, x: Tensor, a: Tensor) -> Tensor:
        """Blocks x [m/q, k/q], a [k/q, n/q] -> [m/q, n/q]."""
        ctx.grid = grid
        ctx.save_for_backward(x, a)
        return multiply(grid, x.detach(), a.detach())

    @staticmethod
    def backward(ctx, dy: Tensor):
        """dX = dY A^T, dA = X^T dY."""
        x, a = ctx.saved_tensors
        return None, multiply_transposed(ctx.grid, dy, a), transposed_multiply(ctx.grid, x, dy)


def summa(grid: Grid, x: Tensor, a: Tensor) -> Tensor:
    """The blocks of X A, differentiable: a linear layer in two dimensions."""
    return Summa.apply(grid, x, a)
