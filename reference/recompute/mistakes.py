"""Three formulas for recomputation that are often written down, as they stand, and what comes out of them.

Idea      "dp[i] = min over j of dp[j] + Memory(j+1, i) + Recompute(j+1, i)" adds bytes to seconds. If both are sums
          over the links of a segment, the sum over segments is the same for every choice of segments (`segment_sums`).
          If Memory is something else, the choice depends on whether bytes are counted in kB or GB (`best_segments`).
          And a peak is no sum over segments: what is kept and the largest segment add up (periodic.py).
          "rho = sqrt(T_compute / (M_act BW_storage))" is s/B, no density: in MB instead of bytes the same machine has a
          rho a million times as large (`density`).
          "minimise sum of Memory_i Store_i" is solved by storing nothing: n (n + 1) / 2 forward passes (`store_least`).
Left out  What is right: seconds as the aim, bytes as the limit (rotor.py, checkmate.py).
Try       segment_sums([3, 1, 2], [5, 1, 4])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import sqrt

from .binomial import revolve
from .chain import ChainOperation

Price = Callable[[int, int], float]
"""Of links j to i - 1 as one segment."""


def cuts(n: int) -> Iterator[tuple[int, ...]]:
    """Every way to cut n links into segments: where each ends."""
    for count in range(n):
        for inner in combinations(range(1, n), count):
            yield (*inner, n)


def segment_sums(memory: Sequence[float], recompute: Sequence[float]) -> set[float]:
    """The values of the formula over all ways to cut, Memory and Recompute the sums over a segment: only one."""

    def price(j: int, i: int) -> float:
        return sum(memory[j:i]) + sum(recompute[j:i])

    return {_value(ends, price) for ends in cuts(len(memory))}


def best_segments(n: int, price: Price) -> tuple[int, ...]:
    """The ends of the segments for which the formula's sum of prices is least, the first of them if several are."""
    return min(cuts(n), key=lambda ends: _value(ends, price))


def _value(ends: tuple[int, ...], price: Price) -> float:
    return sum(price(j, i) for j, i in zip((0, *ends), ends))


def density(compute: float, activations: float, bandwidth: float) -> float:
    """rho = sqrt(T_compute / (M_act BW_storage)): its unit is that of sqrt(seconds / (bytes x bytes / second))."""
    return sqrt(compute / (activations * bandwidth))


def store_least(n: int) -> list[ChainOperation]:
    """The schedule that stores no value but the first: each link's input is computed anew from there."""
    return revolve(n, 1)
