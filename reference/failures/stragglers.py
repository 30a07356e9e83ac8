"""Stragglers: a slow rank, a stuck rank and a dead rank look alike from outside, and need different answers.

Idea      A heartbeat carries two numbers: how many collectives the rank has entered, and the seconds that it was busy
          in its last step. No heartbeat: dead, replace it. Heartbeats, but the count stands while others wait in a
          later collective: stuck, kill it. The count grows and busy seconds are far above the others': slow, give it
          less work or a new machine.
Before    a timeout on the collective      all ranks time out together: it tells that one is missing, not which
After     the lowest count                 names the rank that has not come
Exact     Busy seconds are compared by median and median absolute deviation. The mean and the standard deviation contain
          the straggler: among P ranks no value is more than (P - 1) / sqrt(P) deviations from the mean, so with ten
          ranks or fewer a rule of three deviations never fires.
Price     One rank of two is not a majority: with two ranks neither is slow.
Source    Samuelson, How Deviant Can You Be? (1968), for the bound. Iglewicz and Hoaglin, How to Detect and Handle
          Outliers (1993), for median and MAD with a threshold of 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .heartbeat import FailureDetector

NORMAL = 1.4826  # of a normal distribution: standard deviation over median absolute deviation


def deviations(values: ArrayLike) -> np.ndarray:
    """How many standard deviations (of a sample) each value is above the mean, [P]; zeros if all are equal."""
    values = np.asarray(values, dtype=float)
    spread = values.std(ddof=1)
    return (values - values.mean()) / spread if spread else np.zeros_like(values)


def robust_deviations(values: ArrayLike, least: float = 0.01) -> np.ndarray:
    """How many robust deviations each value is above the median, [P].

    A robust deviation is 1.4826 times the median absolute deviation, and at least `least` of the median: ranks that are
    equal to the microsecond must not make one of them an outlier.
    """
    values = np.asarray(values, dtype=float)
    middle = np.median(values)
    return (values - middle) / max(NORMAL * np.median(np.abs(values - middle)), least * middle)


def largest_deviation(ranks: int) -> float:
    """The most standard deviations that one of `ranks` values can be from their mean: (P - 1) / sqrt(P)."""
    return (ranks - 1) / math.sqrt(ranks)


def behind(entered: Sequence[int]) -> list[int]:
    """The ranks that have entered the fewest collectives, if others have entered more: those that all wait for."""
    least = min(entered)
    return [rank for rank, count in enumerate(entered) if count == least] if max(entered) > least else []


class Watcher:
    """Tells "dead", "stuck", "slow" and "fine" ranks apart, from their heartbeats.

    detector: makes a failure detector for a rank; stuck: seconds for which a rank that others wait for may stand still;
    slow: robust deviations above the median from which on a rank is slow; patience: steps in a row.
    """

    def __init__(
        self,
        ranks: int,
        detector: Callable[[], FailureDetector],
        stuck: float,
        slow: float = 3.5,
        patience: int = 3,
    ):
        self.detectors = [detector() for _ in range(ranks)]
        self.stuck, self.slow, self.patience = stuck, slow, patience
        self.entered, self.since = [0] * ranks, [0.0] * ranks  # collectives, and when the count last grew
        self.busy, self.late = np.zeros(ranks), [0] * ranks  # seconds of the last step; steps in a row that were slow
        self.news: set[int] = set()  # ranks that have told of a step since all were compared

    def heartbeat(self, rank: int, at: float, entered: int, busy: float) -> None:
        """A rank says: so many collectives entered, so many busy seconds in the last step."""
        self.detectors[rank].arrived(at)
        if entered > self.entered[rank]:
            self.entered[rank], self.since[rank], self.busy[rank] = entered, at, busy
            self.news.add(rank)
        if len(self.news) == len(self.busy):
            self.news.clear()
            for one, above in enumerate(robust_deviations(self.busy)):
                self.late[one] = self.late[one] + 1 if above > self.slow else 0

    def standing(self, rank: int, now: float) -> str:
        """What is the matter with this rank: "dead", "stuck", "slow" or "fine"."""
        if now > self.detectors[rank].deadline:
            return "dead"
        if rank in behind(self.entered) and now - self.since[rank] > self.stuck:
            return "stuck"
        return "slow" if self.late[rank] >= self.patience else "fine"
