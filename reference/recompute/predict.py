"""What a schedule of recomputation takes: seconds, peak bytes, and the live bytes after each operation.

Idea      Operations run one after the other, so their seconds add up. An operation has at its peak the bytes that are
          live before it, and the most that it needs above those: the link's measured peaks. So the peak of a schedule
          is the largest such sum, and not the largest number of kept bytes.
Exact     In bytes, for links whose every pass allocates the same: `carry_out` under the meter has the same numbers
          (tests/recompute/test_predict.py). In seconds as exact as the seconds of a link.
"""

from __future__ import annotations

from typing import NamedTuple

from .chain import Chain, ChainOperation, Held, Operations, check


class OperationBytes(NamedTuple):
    """One operation of a schedule: when it begins and ends, in seconds; live bytes before, at most during, and after.

    It was `operation` that took place.
    """

    operation: ChainOperation
    begin: float
    end: float
    before: int
    peak: int
    after: int


class ScheduleCost(NamedTuple):
    """Seconds of a schedule, the most bytes that are live at any time, forward passes of all links together."""

    seconds: float
    peak: int
    forwards: int


def timeline(chain: Chain, operations: Operations) -> list[OperationBytes]:
    """Live bytes over the schedule's time. Raises ValueError as `chain.check` does."""
    check(chain.n, operations)
    held, now, found = Held(chain.n), 0.0, []
    for operation in operations:
        before, end = held.live(chain), now + chain.seconds(operation)
        held.take(operation)
        after = held.live(chain)
        peak = max(before + chain.peak(operation), before, after)
        found.append(OperationBytes(operation, now, end, before, peak, after))
        now = end
    return found


def cost(chain: Chain, operations: Operations) -> ScheduleCost:
    """What the schedule takes in all. Raises ValueError as `chain.check` does."""
    steps = timeline(chain, operations)
    forwards = sum(step.operation.kind == "forward" for step in steps)
    return ScheduleCost(steps[-1].end, max(step.peak for step in steps), forwards)
