"""A simulated cluster whose ranks change their speed: what does a controller gain, and does it come to rest?

Idea      The seconds of a step are those of the slowest rank: units / (speed * noise). Speeds are a trace, [steps, P];
          a rank that is badly cooled makes its own: it slows down when it has been busy for too long, and recovers when
          it rests. The controller sees what a rank's stopwatch sees, noise included.
Exact     Moves cost what MoveCost says. The oracle knows the speeds of every step beforehand, but not the noise, and
          moves for nothing: what controllers are measured by.
Left out  Messages: they take the same time with any shares in data parallelism, so the gain of a whole step is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .controller import Controller
from .monitor import busy
from .shares import target

# Traces: speeds [steps, P] in units per second ------------------------------------------------------------------------


def steady(steps: int, speeds: Sequence[float]) -> np.ndarray:
    """The same speeds in every step."""
    return np.tile(np.asarray(speeds, dtype=float), (steps, 1))


def throttled(trace: np.ndarray, rank: int, first: int, after: int, factor: float) -> np.ndarray:
    """From step `first` until before step `after` this rank has `factor` of its speed."""
    slower = trace.copy()
    slower[first:after, rank] *= factor
    return slower


def congested(trace: np.ndarray, rank: int, chance: float, length: int, factor: float, seed: int = 0) -> np.ndarray:
    """Short bursts: each step one begins with this chance; for `length` steps the rank has `factor` of its speed."""
    begins = np.random.default_rng(seed).random(len(trace)) < chance
    slow = np.convolve(begins, np.ones(length))[: len(trace)] > 0
    slower = trace.copy()
    slower[slow, rank] *= factor
    return slower


def jitter(steps: int, ranks: int, deviation: float, seed: int = 0) -> np.ndarray:
    """By what each rank's speed is off in each step: normal around 1, at least a tenth, [steps, P]."""
    return np.random.default_rng(seed).normal(1, deviation, (steps, ranks)).clip(0.1)


class Heat:
    """A rank that is throttled to `factor` of its speed when it is `hot`, until it has cooled down to `cool`.

    Its temperature goes to the part of the step in which it works (half of that at half speed), with a time constant of
    `inertia` steps.
    """

    def __init__(self, rank: int, hot: float = 0.9, cool: float = 0.6, factor: float = 0.5, inertia: float = 50):
        self.rank, self.hot, self.cool, self.factor, self.inertia = rank, hot, cool, factor, inertia
        self.temperature, self.slow, self.times = 0.0, False, 0  # how often it was throttled

    def speeds(self, speeds: np.ndarray) -> np.ndarray:
        """The speeds of this step, [P]."""
        before, self.slow = self.slow, self.temperature > (self.cool if self.slow else self.hot)
        self.times += self.slow and not before
        if not self.slow:
            return speeds
        speeds = speeds.copy()
        speeds[self.rank] *= self.factor
        return speeds

    def worked(self, part: float) -> None:
        """It has worked for this part of a step."""
        power = part * (self.factor if self.slow else 1)
        self.temperature += (power - self.temperature) / self.inertia


# The run --------------------------------------------------------------------------------------------------------------


class Trail(NamedTuple):
    """What came of a simulation."""

    seconds: np.ndarray  # of each step, with the moves before it, [steps]
    shares: np.ndarray  # units of each rank in each step, [steps, P]
    moves: int
    moved: int  # units

    @property
    def total(self) -> float:
        """Seconds of all steps."""
        return float(self.seconds.sum())

    def turns(self, rank: int) -> int:
        """How often this rank's share goes up after it went down, or down after it went up."""
        way = np.sign(np.diff(self.shares[:, rank]))
        way = way[way != 0]
        return int((way[1:] != way[:-1]).sum())

    @property
    def reversals(self) -> int:
        """Turns of all ranks."""
        return sum(self.turns(rank) for rank in range(self.shares.shape[1]))


def simulate(
    trace: np.ndarray,
    controller: Controller,
    noise: np.ndarray | float = 1.0,
    heat: Heat | None = None,
    half_life: float = 10,
    horizon: float = float("inf"),
) -> Trail:
    """Train for len(trace) steps under a controller.

    noise: factor of each speed [steps, P] or 1; half_life: that of the monitors, in steps; horizon: for how many steps
    at most the controller believes that speeds last.
    """
    steps, ranks = trace.shape
    noise = np.broadcast_to(noise, trace.shape)
    seconds, shares = np.empty(steps), np.empty((steps, ranks), dtype=int)
    kept, units, worked = 0.5 ** (1 / half_life), np.zeros(ranks), np.zeros(ranks)
    moves = moved = 0
    pause = 0.0
    for step in range(steps):
        now = np.array(controller.shares)
        own = busy(now, (heat.speeds(trace[step]) if heat else trace[step]) * noise[step])
        seconds[step], shares[step] = own.max() + pause, now
        if heat:
            heat.worked(own[heat.rank] / own.max())
        units, worked = kept * units + now, kept * worked + own  # the monitors of all ranks at once
        made = controller.step(units / worked, min(steps - step - 1, horizon))
        pause = controller.cost.seconds(made)
        moves, moved = moves + bool(made), moved + sum(move.units for move in made)
    return Trail(seconds, shares, moves, moved)


def static(trace: np.ndarray, shares: Sequence[int], noise: np.ndarray | float = 1.0) -> Trail:
    """Train with the same shares throughout."""
    every = np.tile(np.asarray(shares), (len(trace), 1))
    return Trail((every / (trace * noise)).max(axis=1), every, 0, 0)


def oracle(trace: np.ndarray, units: int, noise: np.ndarray | float = 1.0) -> Trail:
    """Train with the best shares for each step's speeds, known beforehand and changed for nothing."""
    known = {tuple(speeds): target(units, list(speeds)) for speeds in np.unique(trace, axis=0)}
    every = np.array([known[tuple(speeds)] for speeds in trace])
    changed = np.abs(np.diff(every, axis=0)).sum(axis=1) // 2
    return Trail((every / (trace * noise)).max(axis=1), every, int((changed > 0).sum()), int(changed.sum()))
