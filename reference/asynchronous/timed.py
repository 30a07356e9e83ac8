"""An objective whose gradients take time on the virtual clock.

Idea      The methods of this package differ in who waits for whom, so a gradient must cost something. The objective
          costs it, whatever the method: wrap it, and every call of `gradient` is charged to the clock of its rank. A
          rank that is always slow is a fault of the launch (Slow); chance is here.
Chance    With `jitter` a gradient's time is exponentially distributed around `seconds`, drawn from (seed, rank, step):
          every method meets the same times. Of P such times the largest is 1 + 1/2 + ... + 1/P times the mean on
          average, so who waits for all in each step takes that much longer.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import mpi
from ..models.seeds import generator


class Timed:
    """The same function as `objective`; a gradient takes `seconds`, or that on average."""

    def __init__(self, comm, objective, seconds: float, jitter: bool = False, seed: int = 0):
        self.comm, self.objective, self.seconds, self.jitter, self.seed = comm, objective, seconds, jitter, seed

    def start(self) -> Tensor:
        """The weights to begin with, w [d]."""
        return self.objective.start()

    def gradient(self, w: Tensor, step: int, rank: int = 0, ranks: int = 1) -> tuple[Tensor, int]:
        """The gradient g [d] of the sum over this rank's share of the batch, and the number of its samples."""
        chance = torch.rand((), generator=generator(self.seed, rank, step), dtype=torch.float64)
        mpi.compute(self.comm, self.seconds * (-float(chance.log()) if self.jitter else 1.0))
        return self.objective.gradient(w, step, rank, ranks)
