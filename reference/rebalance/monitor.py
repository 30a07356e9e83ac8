"""Monitor: how fast each rank works, smoothed, from the seconds in which it works and does not wait.

Idea      Speed is units of work (samples, layers, blocks of state) per busy second. A step of synchronous training
          lasts equally long on all ranks, because the fast ones wait. Whoever divides by the step's length therefore
          measures shares and not speeds. So the stopwatch ends before the first message is waited for.
Before    rank 3 is half as fast    units 16 16 16 16    seconds of the step 2 2 2 2: all ranks look alike
After     the same                  busy seconds 1 1 1 2                            : speeds 16 16 16 8
Sends     `gathered`: one all-gather of 8 bytes a rank, whenever somebody asks.
Exact     The smoothed speed is a ratio of two sums that forget alike, so a step counts for as much as it worked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..agreement import agree


class Monitor:
    """The speed of this rank, and the seconds of its last step.

    half_life: after how many steps a measurement counts half (steps). Raises ValueError unless it is above 0.
    """

    def __init__(self, half_life: float = 10):
        if not half_life > 0:
            raise ValueError(f"half_life is a number of steps above 0, got {half_life}")
        self._kept = 0.5 ** (1 / half_life)
        self._units = self._seconds = 0.0
        self.latest = 0.0  # busy seconds of the last step

    def record(self, units: float, seconds: float) -> None:
        """Add a step in which this rank worked `units` units in `seconds` busy seconds.

        Raises ValueError for negative units, and for units done in no time.
        """
        if units < 0 or seconds < 0 or (units and not seconds):
            raise ValueError(f"a step has units of work and the seconds that they took, got {units=} {seconds=}")
        self._units = self._kept * self._units + units
        self._seconds = self._kept * self._seconds + seconds
        self.latest = seconds

    @property
    def speed(self) -> float:
        """Units per second; 0 as long as nothing has been done."""
        return self._units / self._seconds if self._seconds else 0.0


def gathered(comm, monitor: Monitor) -> np.ndarray:
    """The speeds of all ranks, [P] in units per second, the same bits on every rank.

    Raises ValueError on every rank if one has done nothing yet.
    """
    speeds = np.empty(comm.size)
    comm.Allgather(np.array([monitor.speed]), speeds)
    idle = [rank for rank, speed in enumerate(speeds) if not speed > 0]
    if idle:
        raise ValueError(f"rank(s) {idle} have done nothing, so their speed is not known: give each at least one unit")
    return speeds


def agreed(comm, shares: Sequence[int]) -> None:
    """Raise ValueError on every rank unless all of them hold the same shares. Collective."""
    agree(comm, "the shares", list(shares))


# What the numbers of all ranks say ------------------------------------------------------------------------------------


def variation(values: ArrayLike) -> float:
    """Standard deviation over mean, of P values: the sigma that is often put on a dashboard."""
    values = np.asarray(values, dtype=float)
    return float(values.std() / values.mean())


def busy(shares: ArrayLike, speeds: ArrayLike) -> np.ndarray:
    """Seconds that each rank works in a step, [P]."""
    return np.asarray(shares, dtype=float) / np.asarray(speeds, dtype=float)


def imbalance(shares: ArrayLike, speeds: ArrayLike) -> float:
    """By what part a step is longer than with perfect shares: 0 is balanced, 1 is twice as long.

    The slowest rank's seconds over those of shares in exact proportion to speed, sum(n) / sum(v), minus 1.
    """
    return float(busy(shares, speeds).max() * np.sum(speeds) / np.sum(shares) - 1)
