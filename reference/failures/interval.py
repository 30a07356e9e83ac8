"""Checkpoint interval: how many seconds of work lie between two checkpoints.

Idea      A checkpoint blocks training for C seconds. A failure comes every M seconds on average and loses the work
          since the last checkpoint. Save often and the checkpoints cost; save rarely and the failures cost. To first
          order the part of the time that is lost is C / T + T / 2M, and it is smallest at T = sqrt(2 C M).
Before    T too short     work C work C work C work C           much time in C
After     T = sqrt(2CM)   work-work C work-work C               both losses are equal
Exact     Failures at random with a constant rate (exponential times between them) that also hit checkpoints and
          restarts. A segment of T seconds of work and C of checkpoint then takes M exp(R / M) (exp((T + C) / M) - 1)
          seconds on average. Derivation: a segment of a = T + C seconds succeeds with probability p = exp(-a / M). If
          it fails, it has run for M - a p / (1 - p) seconds on average, a restart follows, and it begins anew. So
              X = p a + (1 - p) (M - a p / (1 - p) + Y + X)    which is    X = (1 / p - 1) (M + Y)
          A restart of R seconds is a segment whose failures are followed by itself: Y = M (exp(R / M) - 1). Together
          they are the formula. Its smallest value per second of work is where (1 - T / M) exp(T / M) = exp(-C / M):
          `exact` solves it. The restart R is a factor in front and does not change the best T.
Price     The optimum is flat: with twice or half the best interval 1.25 times as much is lost, to first order.
Left out  Failures that come in bursts or age, and checkpoints that cannot be read: simulate.py.
Source    Young, A first order approximation to the optimum checkpoint interval (CACM 17(9), 1974). Daly, A higher order
          estimate of the optimum checkpoint interval for restart dumps (FGCS 22(3), 2006).
"""

from __future__ import annotations

import math
from typing import NamedTuple

# The interval: seconds of work between two checkpoints ----------------------------------------------------------------


def young(cost: float, mtbf: float) -> float:
    """Young's interval: sqrt(2 C M), seconds of work.

    cost: C, seconds that one checkpoint blocks training; mtbf: M, mean seconds between failures of the job. Raises
    ValueError unless both are above 0, as the other intervals do.
    """
    _check(cost, mtbf)
    return math.sqrt(2 * cost * mtbf)


def daly(cost: float, mtbf: float) -> float:
    """Daly's interval to first order: sqrt(2 C M) - C, seconds of work.

    M where a checkpoint takes M / 2 or longer: from there on the formula's value falls, and the optimum does not.
    """
    _check(cost, mtbf)
    return math.sqrt(2 * cost * mtbf) - cost if 2 * cost < mtbf else mtbf


def daly_higher_order(cost: float, mtbf: float) -> float:
    """Daly's interval to higher order, seconds of work; M where a checkpoint takes 2 M or longer.

    sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C.
    """
    _check(cost, mtbf)
    if cost >= 2 * mtbf:
        return mtbf
    part = cost / (2 * mtbf)
    return math.sqrt(2 * cost * mtbf) * (1 + math.sqrt(part) / 3 + part / 9) - cost


def exact(cost: float, mtbf: float) -> float:
    """The interval with the smallest expected time, seconds of work.

    Newton's method for x = T / M in -log(1 - x) - x = C / M, which is the optimum's equation. The left side is convex
    and grows; from a start that is too large the iteration comes down to the root without passing it.
    """
    _check(cost, mtbf)
    c = cost / mtbf
    x = min(math.sqrt(2 * c), -math.expm1(-1 - c))  # both are too large
    for _ in range(100):
        if x == 1:  # of a checkpoint of 36 M and more the rest is below rounding
            break
        step = (-math.log1p(-x) - x - c) * (1 - x) / x
        x -= step
        if step <= 1e-15 * x:
            break
    return mtbf * x


# What an interval costs -----------------------------------------------------------------------------------------------


def expected_seconds(work: float, interval: float, cost: float, mtbf: float, restart: float = 0.0) -> float:
    """Expected seconds until `work` seconds of work are done and saved, with a checkpoint after each `interval`.

    restart: R, seconds from a failure until training goes on. Raises ValueError for an interval of 0 or less, or times
    below 0; so do the functions below. Infinity where a float cannot hold the time.
    """
    if not (interval > 0 and cost >= 0 and mtbf > 0 and restart >= 0 and work >= 0):
        raise ValueError(
            f"interval and mtbf are above 0, and no time is below: {work=} {interval=} {cost=} {mtbf=} {restart=}"
        )
    try:
        return work / interval * mtbf * math.exp(restart / mtbf) * math.expm1((interval + cost) / mtbf)
    except OverflowError:
        return math.inf


def slowdown(interval: float, cost: float, mtbf: float, restart: float = 0.0) -> float:
    """Seconds that pass for each second of work; 1 is a machine without failures and checkpoints."""
    return expected_seconds(1.0, interval, cost, mtbf, restart)


def wasted(interval: float, cost: float, mtbf: float, restart: float = 0.0) -> float:
    """The part of all time that is not work, between 0 and 1."""
    return 1 - 1 / slowdown(interval, cost, mtbf, restart)


class Account(NamedTuple):
    """Where the time goes: seconds on average of work that lasts, checkpoints that hold, work lost with the
    checkpoints that failed, and restarts; and the numbers of failures and of checkpoints that hold.
    """

    work: float
    saving: float
    lost: float
    restarting: float
    failures: float
    checkpoints: float

    @property
    def overhead(self) -> float:
        """The part of all time that is not work."""
        return 1 - self.work / (self.work + self.saving + self.lost + self.restarting)


def account(seconds: float, interval: float, cost: float, mtbf: float, restart: float = 0.0) -> Account:
    """Where `seconds` of a long run go, on average.

    Failures come at a constant rate, also while a restart is under way. So there are seconds / M of them, and restarts
    take the part 1 - exp(-R / M) of all time.
    """
    work = seconds / slowdown(interval, cost, mtbf, restart)
    checkpoints = work / interval
    restarting = -seconds * math.expm1(-restart / mtbf)
    lost = seconds - work - checkpoints * cost - restarting
    return Account(work, checkpoints * cost, lost, restarting, seconds / mtbf, checkpoints)


def _check(cost: float, mtbf: float) -> None:
    if not (0 < cost < math.inf and 0 < mtbf < math.inf):
        raise ValueError(f"cost and mtbf are seconds above 0, got {cost=} {mtbf=}")
