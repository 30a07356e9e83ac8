"""Answers from the car, the roadside and the cloud: the tail of their sum, and what each way to shorten it buys.

Idea      A tier's latency is a distribution. If the tiers are independent, that of the sum is a convolution. One slow
          day of the network for all of them is a common cause, and its tail is longer than any convolution says.
          Speculation asks two copies and takes the first answer; a cache leaves a tier out; redundancy has an answer
          of the car at hand when the deadline comes.
Before    10 + 30 + 60 ms, "so the 99th percentile is 85 ms"
After     the distribution, and with it the chance that the deadline is missed: by analysis and by simulation
Price     Speculation asks twice. A cache may be stale. The car's own answer is a poorer one.
Exact     The convolution, to its grid, and only if the tiers are independent.
Left out  Queues: what asks twice also loads twice, and so makes each answer later.
Source    Dean and Barroso, The Tail at Scale, Communications of the ACM 56 (2013), for requests that are sent twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import gamma

from .probability import LatencyDistribution, chain

TICK = 0.25  # ms of the grid
TIERS = {"car": (8.0, 1.0), "roadside": (22.0, 4.0), "cloud": (40.0, 10.0)}  # mean and deviation, ms
DEADLINE = 100.0


def answer_time(mean: float, deviation: float) -> LatencyDistribution:
    """A gamma distribution of this mean and deviation (ms), rounded up to the grid."""
    shape, scale = (mean / deviation) ** 2, deviation**2 / mean
    edges = np.arange(0, mean + 20 * deviation, TICK)
    below = gamma.cdf(edges, shape, scale=scale)
    return LatencyDistribution(np.diff(below, prepend=0.0), TICK)


def simulated(
    tiers: Mapping[str, tuple[float, float]] = TIERS, common: bool = False, n: int = 200_000, seed: int = 0
) -> np.ndarray:
    """Sums of latencies (ms), shape (n,); with a common cause one factor of mean 1 slows all but the first."""
    draw = np.random.default_rng(seed)
    each = [draw.gamma((m / d) ** 2, d * d / m, n) for m, d in tiers.values()]
    factor = draw.gamma(2, 0.5, n) if common else 1.0
    return each[0] + sum(each[1:]) * factor


def slowest(parts: Sequence[LatencyDistribution]) -> LatencyDistribution:
    """The last of several answers that are independent and asked for at once: distribution functions multiply."""
    below = np.ones(max(part.chances.size for part in parts))
    for part in parts:
        sums = np.cumsum(part.chances)
        below *= np.append(sums, np.full(below.size - sums.size, sums[-1]))
    return LatencyDistribution(np.diff(below, prepend=0.0), parts[0].tick)


def ways(deadline: float = DEADLINE, hits: float = 0.5) -> dict[str, tuple[float, float]]:
    """(99th percentile in ms, chance to be late) of each way, for independent tiers.

    one after the other; the cloud asked twice; a cache that has the cloud's answer in a share `hits` of cases, at no
    time; all tiers side by side, if none needs another's answer; the car's answer in place of one that is late, which
    is never late itself while the car's is not.
    """
    car, roadside, cloud = (answer_time(*tier) for tier in TIERS.values())
    near, none = car + roadside, np.zeros_like(cloud.chances)
    none[0] = 1.0
    found = {
        "one after the other": chain([car, roadside, cloud]),
        "cloud asked twice": near + cloud.fastest(2),
        "side by side": slowest([car, roadside, cloud]),
        "cache": near + LatencyDistribution(hits * none + (1 - hits) * cloud.chances, cloud.tick),
    }
    told = {name: (total.percentile(0.99), total.exceeds(deadline)) for name, total in found.items()}
    late = told["one after the other"][1]
    return told | {"car at hand": (min(told["one after the other"][0], deadline), late * car.exceeds(deadline))}
