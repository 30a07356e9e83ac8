"""Cannon's algorithm: a matrix product on a torus of q x q ranks, with messages between neighbours only.

Idea      C_ij is the sum over k of A_ik B_kj, in any order. Let rank (i, j) begin with k = i + j: row i of A is moved i
          places to the left, column j of B j places up. Then after each product all of A moves one place left and all
          of B one place up, and every rank has the next pair.

              q = 3, row 1 of A:   A10 A11 A12   skewed:  A11 A12 A10   then:  A12 A10 A11   then:  A10 A11 A12

Before    SUMMA: broadcasts along rows and columns, log2 q latencies a step
After     one exchange with each neighbour a step
Sends     A rank sends its block of A q - 1 times after the skew, and of B too, and once each for the skew unless it is
          in row (column) 0: (q - 1) + 1 - 1/q times on average.
Exact     As SUMMA: P = q^2, and q divides the matrices.
Source    Cannon, "A Cellular Computer to Implement the Kalman Filter Algorithm" (1969).
"""

from __future__ import annotations

from torch import Tensor

from .summa import Grid


def shifted(comm, block: Tensor, places: int) -> Tensor:
    """The block of the rank that is `places` further; this rank's goes as far back. In a ring."""
    places %= comm.size
    if places == 0:
        return block.contiguous()
    came = block.new_empty(block.shape)
    comm.Sendrecv(block.contiguous(), (comm.rank - places) % comm.size, 0, came, (comm.rank + places) % comm.size, 0)
    return came


def cannon(grid: Grid, a: Tensor, b: Tensor, first: int = 0, steps: int | None = None) -> Tensor:
    """C = A B, or the part of it that steps first ... first + steps - 1 of q add. Blocks as in summa.multiply."""
    grid.check(a, b, (a.shape[1], b.shape[0]))
    steps = grid.q if steps is None else steps
    a, b = shifted(grid.row, a, grid.i + first), shifted(grid.column, b, grid.j + first)
    c = a @ b
    for _ in range(steps - 1):
        a, b = shifted(grid.row, a, 1), shifted(grid.column, b, 1)
        c += a @ b
    return c
