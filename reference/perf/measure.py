"""Measuring a collective: all start together (as far as a barrier can), the slowest counts, a median has a spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .. import mpi


class Spread(NamedTuple):
    """A median and the quartiles around it, in seconds."""

    low: float
    median: float
    high: float


def spread(seconds: Sequence[float]) -> Spread:
    """The quartiles of some measurements."""
    return Spread(*np.quantile(seconds, [0.25, 0.5, 0.75]).tolist())


def measure(comm, programs: Sequence[Callable[[], object]], repeat: int) -> list[Spread]:
    """Time each of the programs `repeat` times, in turns, after one warm-up each.

    In turns, so that a disturbance of the machine meets all alike and their ratio can be trusted more than any of
    them; in another order each turn (the same on all ranks), for a program leaves caches and ranks as the next one
    finds them. The time of one run is that of the slowest rank; the result is the same on every rank.
    """
    own, order = np.zeros((repeat + 1, len(programs))), np.random.default_rng(0)
    for times in own:
        for number in order.permutation(len(programs)):
            comm.Barrier()
            start = mpi.wtime(comm)
            programs[number]()
            times[number] = mpi.wtime(comm) - start
    slowest = np.empty_like(own)
    comm.Allreduce(own, slowest, op=mpi.MAX)
    return [spread(column) for column in slowest[1:].T]
