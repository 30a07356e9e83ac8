"""Tails, votes and availability: what can be said when the worst case is not known, and what must not be.

Idea      The latency of a chain is a sum, so its distribution is a convolution of those of its parts, if they are
          independent. Percentiles do not add: the P99 of a sum is not the sum of P99s, and may be above it. Without
          independence only a sum of chances holds: P(sum > sum of q_i) is at most the sum of P(X_i > q_i).
          Beyond what was measured, a generalised Pareto distribution fitted to what exceeds a threshold extrapolates.
          Two of three that agree outvote one that fails, unless all three fail for one reason.
Before    three tiers with a P99 of 10, 30 and 60 ms: "P99 = 100 ms"
After     independent: below, as a rule; when all are slow together: 100; nothing of it is known without the joint
          distribution. A share beta of common causes bounds what votes can buy.
Price     A convolution a part; thousands of samples above a threshold for a tail.
Exact     The convolution of independent parts on a grid, to rounding. Extreme values: an extrapolation, right only if
          what was measured is what will happen: a rare mode that was never seen (garbage collection, a hand-over, an
          interrupt) is in no fit. Measurements that depend on each other say less than their number.
Left out  Probabilistic response-time analysis; confidence in a worst case, which no sample gives.
Source    Pickands (1975); Coles, An Introduction to Statistical Modeling of Extreme Values (2001); von Neumann (1956)
          for votes; Fleming (1975) for the share beta of common causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from ..failures.spares import group_fails

MINUTES_A_YEAR = 365.25 * 24 * 60


@dataclass(frozen=True)
class LatencyDistribution:
    """Probabilities of latencies 0, tick, 2 tick, ...; `a + b` is the sum of two that are independent."""

    chances: np.ndarray
    tick: float = 1.0

    @staticmethod
    def of(samples: Sequence[float], tick: float) -> LatencyDistribution:
        """The distribution of samples, each rounded up to a tick: never more hopeful than they are."""
        steps = np.ceil(np.asarray(samples, float) / tick - 1e-9).astype(int)
        if not steps.size or steps.min() < 0 or tick <= 0:
            raise ValueError(f"latencies of at least 0, and a tick above 0, got {len(steps)} samples and tick {tick}")
        return LatencyDistribution(np.bincount(steps) / steps.size, tick)

    def __add__(self, other: LatencyDistribution) -> LatencyDistribution:
        if self.tick != other.tick:
            raise ValueError(f"one grid for both: ticks of {self.tick} and {other.tick}")
        return LatencyDistribution(np.convolve(self.chances, other.chances), self.tick)

    def fastest(self, copies: int) -> LatencyDistribution:
        """The first of several independent copies: speculative requests, of which the first answer counts."""
        above = self._above() ** copies
        return LatencyDistribution(np.append(1, above[:-1]) - above, self.tick)

    def exceeds(self, latency: float) -> float:
        """The probability of more than this."""
        place = int(np.floor(latency / self.tick + 1e-9))
        return float(self.chances[max(0, place + 1) :].sum())

    def percentile(self, share: float) -> float:
        """The least latency that is exceeded with a probability of at most 1 - share."""
        return float(np.searchsorted(-self._above(), -(1 - share) - 1e-12)) * self.tick

    def _above(self) -> np.ndarray:
        """The probability of more than 0, tick, ... ticks; summed from the small end, so that the tail keeps digits."""
        return np.append(np.cumsum(self.chances[::-1])[::-1][1:], 0.0)


def chain(parts: Sequence[LatencyDistribution]) -> LatencyDistribution:
    """The sum of parts that are independent."""
    return reduce(LatencyDistribution.__add__, parts)


def at_most_one_late(parts: Sequence[LatencyDistribution], share: float) -> tuple[float, float]:
    """(latency, chance): without independence, the sum of the parts' percentiles is exceeded with this chance at
    most.
    """
    return sum(part.percentile(share) for part in parts), min(
        1.0, sum(part.exceeds(part.percentile(share)) for part in parts)
    )


class TailFit(NamedTuple):
    """A generalised Pareto tail: P(X > threshold + y) = rate (1 + shape y / scale)^(-1/shape)."""

    threshold: float
    rate: float
    shape: float
    scale: float

    def exceeds(self, latency: float) -> float:
        """The extrapolated probability of more than a latency above the threshold."""
        y = latency - self.threshold
        if y < 0:
            raise ValueError(f"the fit is for latencies above its threshold of {self.threshold}, got {latency}")
        if abs(self.shape) < 1e-9:
            return self.rate * float(np.exp(-y / self.scale))
        return self.rate * max(0.0, 1 + self.shape * y / self.scale) ** (-1 / self.shape)

    def level(self, chance: float) -> float:
        """The latency that is exceeded with this chance, at most the rate of the threshold."""
        if not 0 < chance <= self.rate:
            raise ValueError(f"a chance above 0 and at most {self.rate}, that of the threshold, got {chance}")
        ratio = self.rate / chance
        grown = np.log(ratio) if abs(self.shape) < 1e-9 else (ratio**self.shape - 1) / self.shape
        return self.threshold + self.scale * float(grown)


def fit_tail(samples: Sequence[float], share: float = 0.95) -> TailFit:
    """Fit what exceeds a percentile, by probability-weighted moments. At least 50 samples must exceed it.

    A shape above 0.5 has no variance, and the fit says little; of dependent samples take the maxima of blocks.
    """
    samples = np.sort(np.asarray(samples, float))
    threshold = float(np.quantile(samples, share))
    over = samples[samples > threshold] - threshold
    if over.size < 50:
        raise ValueError(f"at least 50 samples above the threshold of {threshold}, got {over.size}")
    plotting = 1 - (np.arange(1, over.size + 1) - 0.35) / over.size
    first, second = over.mean(), (plotting * over).mean()
    return TailFit(
        threshold, over.size / samples.size, float(2 - first / (first - 2 * second)),
        float(2 * first * second / (first - 2 * second)),
    )  # fmt: skip


def two_of_three(chance: float, common: float = 0.0) -> float:
    """The probability that two or three of three units fail; a share `common` of each unit's failures is all
    three's.
    """
    if not (0 <= chance < 1 and 0 <= common <= 1):
        raise ValueError(f"a chance in [0, 1) and a share in [0, 1], got {chance} and {common}")
    together = common * chance
    return together + (1 - together) * group_fails((1 - common) * chance)


def minutes_down(availability: float) -> float:
    """Minutes a year (of 365.25 days) in which something is down that is there this share of the time."""
    return (1 - availability) * MINUTES_A_YEAR


def availability(between_failures: float, repair: float) -> float:
    """The share of time that something is there that fails after so long, and is repaired in so long (failover too)."""
    if between_failures <= 0 or repair < 0:
        raise ValueError(f"a time between failures above 0 and a repair of 0 or more, got {between_failures}, {repair}")
    return between_failures / (between_failures + repair)


def in_series(shares: Sequence[float]) -> float:
    """The availability of what needs all of its parts, which fail independently."""
    return float(np.prod(shares))


def in_parallel(shares: Sequence[float], common: float = 0.0) -> float:
    """The availability of what needs one of its parts; `common`: the share of time in which one cause takes all
    down.
    """
    return (1 - common) * (1 - float(np.prod([1 - share for share in shares])))
