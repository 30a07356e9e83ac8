"""Spares: how many idle machines it takes so that a job does not wait for a repair, and how they should be shared.

Idea      A job needs n workers, and each fails with a small probability p: within a day, or at a given moment while it
          is being repaired. Without spares the job stands as soon as one fails. A spare that may replace any worker
          helps in every case of one failure; a spare that belongs to two workers helps those two only.
Before    no spare        n machines        survives 0 failures
After     pairs           1.5 n machines    survives one failure in each pair and its spare
          a pool of k     n + k machines    survives any k failures
Exact     Workers fail independently. Whole nodes that fail together are workers of this arithmetic; to count their
          devices one by one is far too hopeful.
Left out  The state: a spare is of use only if it can get the failed worker's weights and optimizer state somewhere.
          Voting needs three workers that do the same work, and finds no mistake that all of them make.
Source    von Neumann, Probabilistic Logics and the Synthesis of Reliable Organisms from Unreliable Components (1956),
          for two out of three; k out of n is the binomial distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


def none_fails(workers: int, chance: float) -> float:
    """The probability that none of the workers fails, each with this chance."""
    return math.exp(workers * math.log1p(-chance))


def pool_fails(workers: int, spares: int, chance: float) -> float:
    """The probability that of workers + spares machines more than `spares` fail, so that too few are left.

    It adds up the tail of the binomial distribution, so small probabilities keep their digits. Raises ValueError for a
    chance outside [0, 1) or counts below 0.
    """
    if not (0 <= chance < 1 and workers >= 0 and spares >= 0):
        raise ValueError(f"a chance in [0, 1) and counts of 0 or more, got {workers=} {spares=} {chance=}")
    if not chance or not workers:
        return 0.0
    total, odds = workers + spares, math.log(chance) - math.log1p(-chance)
    logs = [total * math.log1p(-chance)]
    for failed in range(total):
        logs.append(logs[-1] + math.log((total - failed) / (failed + 1)) + odds)
    return math.fsum(math.exp(log) for log in logs[spares + 1 :])


def group_fails(chance: float, size: int = 3, needed: int = 2) -> float:
    """The probability that of a group of `size` machines fewer than `needed` are left.

    3 and 2 are two workers with a spare of their own, and as well three voters of which two must agree.
    """
    return pool_fails(needed, size - needed, chance)


def groups_fail(groups: int, chance: float, size: int = 3, needed: int = 2) -> float:
    """The probability that at least one of the groups fails, and with it the job."""
    return -math.expm1(groups * math.log1p(-group_fails(chance, size, needed)))


def spares_for(workers: int, chance: float, target: float) -> int:
    """The fewest pooled spares with which the job fails with a probability of at most `target`.

    Raises ValueError unless target is above 0.
    """
    if not target > 0:
        raise ValueError(f"no number of spares makes failure impossible: {target=}")
    spares = 0
    while pool_fails(workers, spares, chance) > target:
        spares += 1
    return spares


def down(mtbf: float, repair: float) -> float:
    """The part of the time that a machine is down which fails every mtbf seconds on average and takes `repair` to mend.

    It is the chance to use in `pool_fails` for a pool from which machines are taken and into which they come back.
    """
    return repair / (mtbf + repair)


class Shortfall(NamedTuple):
    """What a simulation counted: the part of trials, or of the time, in which too few machines were left."""

    failed: float
    trials: int


def draw(
    workers: int, spares: int, chance: float, trials: int, rng: np.random.Generator, together: int = 1
) -> Shortfall:
    """Draw so many days in which machines fail with this chance, `together` of them at a time (a node)."""
    nodes = -(-(workers + spares) // together)
    failed = np.minimum(rng.binomial(nodes, chance, trials) * together, workers + spares)
    return Shortfall(float((failed > spares).mean()), trials)


def draw_groups(groups: int, chance: float, trials: int, rng: np.random.Generator, size=3, needed=2) -> Shortfall:
    """Draw days of groups, each machine by itself; a day fails if in one group fewer than `needed` are left."""
    failed = sum(bool(rng.binomial(size, chance, groups).max() > size - needed) for _ in range(trials))
    return Shortfall(failed / trials, trials)


def repaired(
    machines: int, spares: int, mtbf: float, repair: float, seconds: float, rng: np.random.Generator
) -> Shortfall:
    """Machines that fail and are mended, each for itself, in a time of so many seconds; `spares` of them may be down.

    Times between failures are exponential, a repair always takes the same time.
    """
    times, steps = [], []
    for _ in range(machines):
        gaps = rng.exponential(mtbf, int(2 * seconds / mtbf) + 20)
        fails = np.cumsum(gaps + repair) - repair
        times += [fails, fails + repair]
        steps += [np.ones_like(fails), -np.ones_like(fails)]
    when, step = np.concatenate(times), np.concatenate(steps)
    order = np.argsort(when)
    when, failed = when[order], np.cumsum(step[order])
    length = np.diff(np.minimum(when, seconds))
    return Shortfall(float(length[failed[:-1] > spares].sum() / seconds), machines)
