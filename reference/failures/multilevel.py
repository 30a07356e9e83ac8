"""Checkpoints on several levels: cheap ones often for the common failures, dear ones rarely for the rare ones.

Idea      Most failures take one process or one node. A copy in a partner's memory survives them and costs little. Few
          failures take so much that only the file system helps. Save at level 0 after each T seconds of work, at level
          1 every n1-th time, and so on. A failure that needs level i loses half of n_i T on average.
Before    one level      every failure is paid at the price of the worst     F----------F----------F
After     two levels     m: memory, F: files                                 F--m--m--m--F--m--m--m
Price     Seconds lost for each second of work, to first order: (mean cost of a checkpoint) / T, plus for each kind of
          failure (n_i T / 2 + R_i) / M_i. For given n the best T is sqrt(2 mean cost / sum(n_i / M_i)).
Exact     First order: failures during checkpoints and restarts are left to simulate.py, which runs the same levels.
Left out  A failure while a lower level is being restored that needs a higher one.
Source    Vaidya, A Case for Two-Level Distributed Recovery Schemes (SIGMETRICS 1995). Moody, Bronevetsky, Mohror and
          de Supinski, Design, Modeling, and Evaluation of a Scalable Multi-level Checkpointing System (SC 2010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from .simulate import Failed, Storage


class Nested(NamedTuple):
    """Seconds of work between checkpoints, every how many of them each level is made, and what it loses for each second
    of work."""

    interval: float
    every: tuple[int, ...]
    loss: float


def mean_cost(costs: Sequence[float], every: Sequence[int]) -> float:
    """Seconds that a checkpoint blocks on average, if each is made at the highest level whose turn it is."""
    turns = [1 / one for one in every] + [0.0]
    return sum(cost * (turn - above) for cost, turn, above in zip(costs, turns, turns[1:]))


def loss(
    interval: float, every: Sequence[int], costs: Sequence[float], mtbf: Sequence[float], restarts: Sequence[float]
) -> float:
    """Seconds lost for each second of work, to first order.

    every: of each level, lowest first; costs, restarts: seconds; mtbf: mean seconds between failures for which this
    level is the lowest that survives.
    """
    failing = sum((n * interval / 2 + restart) / mean for n, mean, restart in zip(every, mtbf, restarts))
    return mean_cost(costs, every) / interval + failing


def best(
    costs: Sequence[float], mtbf: Sequence[float], restarts: Sequence[float] | None = None, most: int = 100
) -> Nested:
    """The interval and the multiples with the smallest loss, to first order.

    most: the largest multiple from one level to the next. Raises ValueError unless there is a cost, a mean and a
    restart for each level.
    """
    restarts = [0.0] * len(costs) if restarts is None else restarts
    if not len(costs) == len(mtbf) == len(restarts) > 0:
        raise ValueError(f"one of each for every level, got {len(costs)}, {len(mtbf)} and {len(restarts)}")
    found = []
    for steps in product(range(1, most + 1), repeat=len(costs) - 1):
        every = tuple(int(n) for n in np.cumprod((1, *steps)))
        interval = math.sqrt(2 * mean_cost(costs, every) / sum(n / mean for n, mean in zip(every, mtbf)))
        found.append(Nested(interval, every, loss(interval, every, costs, mtbf, restarts)))
    return min(found, key=lambda one: one.loss)


def storages(plan: Nested, costs: Sequence[float], restarts: Sequence[float]) -> list[Storage]:
    """The levels of a plan, for `simulate`."""
    return [Storage(cost, restart, every=n) for cost, restart, n in zip(costs, restarts, plan.every)]


def kinds(mtbf: Sequence[float], rng: np.random.Generator) -> Iterator[Failed]:
    """Failures at constant rates, each of which needs a level: mtbf[i] seconds on average between those that need i."""
    rates = np.cumsum(1 / np.asarray(mtbf))
    while True:
        gap = rng.exponential(1 / rates[-1])
        yield Failed(float(gap), int(np.searchsorted(rates, rng.random() * rates[-1], side="right")))
