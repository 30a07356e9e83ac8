"""Periodic checkpoints: every k-th value of the chain is kept, and a segment of k links is computed again at a time.

Idea      Cut n links into segments of k. The forward pass keeps the value before each segment. The backward pass takes
          the segments from the last to the first: forward again, with records, and backward. (The last one is recorded
          at once.) The values take n c / k bytes, c each, and the records of one segment k a, a for a link. The sum is
          least at k = sqrt(n c / a): at sqrt(n) if a record weighs as much as a value. So n links take 2 sqrt(n a c)
          bytes for one forward pass more.
Before    n a bytes
After     n c / k + k a bytes, at least 2 sqrt(n a c)
Left out  Segments of different lengths; checkpoints within a segment that is computed again (binomial.py, rotor.py).
Source    Chen, Xu, Zhang & Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016), section 4.
Try       best_period(100, 1, 1)    # 10: 20 in place of 100
"""

from __future__ import annotations

from math import sqrt

from .chain import ChainOperation, backward, forward


def periodic(n: int, k: int) -> list[ChainOperation]:
    """The schedule that keeps every k-th value of n links; k = n keeps all records, k = 1 the value before each link.

    Raises ValueError unless 1 <= k <= n.
    """
    if not 1 <= k <= n:
        raise ValueError(f"a segment has 1 to {n} links of these, got {k}")
    starts = range(0, n, k)
    found: list[ChainOperation] = []
    for s in starts[:-1]:
        found += [forward(s, "input"), *(forward(i) for i in range(s + 1, s + k))]
    for s in reversed(starts):
        segment = range(s, min(s + k, n))
        found += [forward(i, "all") for i in segment] + [backward(i) for i in reversed(segment)]
    return found


def period(n: int, value: float, record: float) -> float:
    """k* = sqrt(n c / a), a number of links, no bytes and no seconds: value c and record a are in the same unit."""
    return sqrt(n * value / record)


def periodic_bytes(n: int, k: float, value: float, record: float) -> float:
    """n c / k + k a: what periodic checkpoints of equal links keep, in the unit of c and a."""
    return n * value / k + k * record


def best_period(n: int, value: float, record: float) -> int:
    """The whole number of links from 1 to n for which periodic_bytes is least: beside k*, since the sum is convex."""
    below = max(1, min(n, int(period(n, value, record))))
    return min((below, min(below + 1, n)), key=lambda k: periodic_bytes(n, k, value, record))
