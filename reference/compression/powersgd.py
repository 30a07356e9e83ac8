"""PowerSGD: send two thin matrices whose product is nearly the gradient; they can be summed by a plain all-reduce.

Idea      One step of subspace iteration. A = M Q is linear in M, and so is Q = M^T A for a fixed A: the sum over the
          ranks of what they computed is what they would have computed of the sum. (The paper's P is A here, since P is
          the number of ranks.)
          Warm start: Q is kept for the next step. As long as the gradient changes slowly, this is subspace iteration
          over the steps, and A Q^T tends to the best approximation of rank r, the truncated SVD.
          Error feedback: M - A Q^T is added to the next gradient. Here A Q^T stands for the *sum*, so each rank keeps
          its own M less a P-th of it. With the rank's own A Q_r^T in its place (algorithm 2) the memories differ and
          their sum does not, and nothing but the sum is ever sent: the steps are the same.
Before    all-reduce M                                                     n m numbers
After     all-reduce A = M Q; orthogonalise A; all-reduce Q = M^T A        r (n + m) numbers; M is about A Q^T
Price     2 all-reduces one after the other, 3 r n m multiplications (M Q, M^T A, A Q^T), and an orthogonalisation.
Exact     NaN on one rank is NaN on all, as with a plain all-reduce, and stays in the memory: begin anew after one.
Left out  Vectors (biases, norms) and matrices that are too small are not compressed; they travel with the A in one
          message.
Source    Vogels, Karimireddy & Jaggi, "PowerSGD: Practical low-rank gradient compression for distributed
          optimization" (2019), algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import prod
from typing import Any

import torch

from .. import mpi
from ..collectives import allreduce_together
from ..collectives.algorithms import collective


def sides(shape: Sequence[int]) -> tuple[int, int]:
    """(n, m) of a gradient seen as a matrix: its first dimension against all others, as PowerSGD sees convolutions."""
    return (shape[0], prod(shape[1:])) if len(shape) > 1 else (prod(shape), 1)


def compressed(shape: Sequence[int], rank: int) -> bool:
    """Whether A and Q are fewer numbers than the matrix."""
    n, m = sides(shape)
    return rank * (n + m) < n * m


def numbers(shapes: Sequence[Sequence[int]], rank: int) -> tuple[int, int]:
    """How many numbers the first all-reduce has (all A, all that is not compressed), and the second (all Q)."""
    small = [shape for shape in shapes if compressed(shape, rank)]
    whole = sum(prod(shape) for shape in shapes if not compressed(shape, rank))
    return whole + sum(rank * sides(shape)[0] for shape in small), sum(rank * sides(shape)[1] for shape in small)


def orthogonal(A: torch.Tensor) -> torch.Tensor:
    """Orthonormal columns [n, r] that span those of A [n, r]."""
    return torch.linalg.qr(A)[0]


class PowerSGD:
    """What a rank keeps between steps: Q of each compressed gradient, and its memory of what was left out.

    shapes: of all gradients, in order. rank: r. generator: draws the first Q; alike on all ranks. warm_start, feedback:
    see above; without a warm start Q is drawn anew in every step.
    """

    def __init__(self, shapes, rank: int, generator: torch.Generator, warm_start: bool = True, feedback: bool = True):
        self.shapes, self.rank, self.generator = [tuple(shape) for shape in shapes], rank, generator
        self.warm_start, self.feedback = warm_start, feedback
        self.small = [i for i, shape in enumerate(self.shapes) if compressed(shape, rank)]
        self.whole = [i for i in range(len(self.shapes)) if i not in self.small]
        self.Q: list[torch.Tensor] = []
        self.error: list[torch.Tensor] = []

    def start(self, matrices: list[torch.Tensor]) -> None:
        """Draw Q where there is none to begin with, and add what was left out last time to the matrices, in place."""
        if not (self.Q and self.warm_start):
            drawn = [torch.randn(M.shape[1], self.rank, generator=self.generator) for M in matrices]
            self.Q = [orthogonal(Q).to(M) for Q, M in zip(drawn, matrices)]
        for M, error in zip(matrices, self.error):
            M += error


@collective
def power_sgd(comm, gradients: list[torch.Tensor], state: PowerSGD, **how) -> Generator[list, None, Any]:
    """Sum the gradients over the ranks, approximately, in place, and return them; the same bits on all ranks.

    gradients: contiguous float32 tensors of state.shapes. how: algorithm, machine, ... of the all-reduces.
    Raises ValueError if the shapes are others.
    """
    if (shapes := [tuple(g.shape) for g in gradients]) != state.shapes:
        raise ValueError(f"gradients of shapes {shapes}, but the state is for {state.shapes}")
    tag = mpi.fresh_tag(comm)  # one for both parts (rounds.carry_out)
    matrices = [gradients[i].view(sides(state.shapes[i])) for i in state.small]
    state.start(matrices)
    A = [M @ Q for M, Q in zip(matrices, state.Q)]
    yield from allreduce_together.driver(comm, A + [gradients[i] for i in state.whole], tag=tag, **how)
    A = [orthogonal(a) for a in A]
    state.Q = [M.T @ a for M, a in zip(matrices, A)]
    yield from allreduce_together.driver(comm, state.Q, tag=tag, **how)
    products = [a @ Q.T for a, Q in zip(A, state.Q)]
    if state.feedback:
        state.error = [M - product / comm.size for M, product in zip(matrices, products)]
    for M, product in zip(matrices, products):
        M.copy_(product)
    return gradients
