"""When everything in a schedule happens: exact times for any costs, by following the orders once.

Idea      A rank does its actions in their order, each as soon as what it needs is there:

              start(a) = max(end of the action before it on this rank, end(n) + send for what it needs, n, elsewhere)

          One pass over all actions: a rank is followed until it needs something that has not been done yet, and again
          when that has been done. If the pass ends with actions left, the schedule cannot be carried out.
Messages  travel while their sender computes on, and take `send` seconds between two ranks, none within one.
Left out  What messages take from each other when one link carries several at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .schedule import KINDS, Action, Schedule, turns

Seconds = float | Sequence[float]


class Costs(NamedTuple):
    """Seconds of each action of a stage: one number, or one for each stage.

    B       the whole backward pass; None: I + W
    S       the optimizer step
    send    from the end of an action until its result is on another rank
    pair    a forward and a backward pass side by side (Schedule.together); None: one after the other, F + B
    sizes   of each micro-batch, how many times as long its passes take on every stage; None: once
    """

    F: Seconds = 1.0
    I: Seconds = 1.0  # noqa: E741
    W: Seconds = 1.0
    B: Seconds | None = None
    S: Seconds = 0.0
    send: float = 0.0
    pair: Seconds | None = None
    sizes: Sequence[float] | None = None

    def of(self, kind: str, stage: int) -> float:
        """Seconds of an action."""
        if kind == "B" and self.B is None:
            return self.of("I", stage) + self.of("W", stage)
        seconds = getattr(self, kind)
        return float(seconds[stage] if isinstance(seconds, Sequence) else seconds)

    def chunked(self, v: int) -> Costs:
        """The costs of stages that are a v-th as large, so that a rank with v of them has as much to do as before."""
        cut = lambda seconds: [x / v for x in seconds] if isinstance(seconds, Sequence) else seconds / v  # noqa: E731
        return self._replace(**{k: cut(x) for k, x in zip("FIWB", self) if x is not None}, S=cut(self.S))


UNIT = Costs()
"""F, I and W of one second each, B of two, nothing else."""


@dataclass(frozen=True)
class Times:
    """When each action of a schedule starts and ends, in seconds: simulated, or recorded by the executor.

    starts, ends    of each rank those of its actions, in their order
    """

    schedule: Schedule
    starts: list[list[float]]
    ends: list[list[float]]

    @property
    def makespan(self) -> float:
        """From the first start to the last end."""
        return max(map(max, filter(None, self.ends))) - min(map(min, filter(None, self.starts)))

    @property
    def busy(self) -> list[float]:
        """Seconds that each rank computes; two actions side by side count once."""
        return [_covered(starts, ends) for starts, ends in zip(self.starts, self.ends)]

    @property
    def spans(self) -> list[float]:
        """Seconds from each rank's first start to its own last end."""
        return [max(ends) - min(starts) if ends else 0.0 for starts, ends in zip(self.starts, self.ends)]

    @property
    def bubble(self) -> float:
        """The share of the makespan, over all ranks, in which nothing is computed."""
        return 1 - sum(self.busy) / (len(self.busy) * self.makespan)


def _covered(starts: list[float], ends: list[float]) -> float:
    """Seconds that are covered by intervals that come in the order of their starts."""
    total, until = 0.0, float("-inf")
    for start, end in zip(starts, ends):
        total += max(end - max(start, until), 0.0)
        until = max(until, end)
    return total


def simulate(schedule: Schedule, costs: Costs = UNIT) -> Times:
    """When every action starts and ends, the first at 0. Raises ValueError if some can never start."""
    starts, ends = [[] for _ in schedule.orders], [[] for _ in schedule.orders]
    done: dict[Action, tuple[float, int]] = {}  # when, and on which rank
    seconds = {(kind, s): costs.of(kind, s) for kind in KINDS for s in range(schedule.stages)}
    sizes = costs.sizes or [1.0] * schedule.micro_batches
    clock = [0.0] * schedule.ranks
    for r, _, actions, needed in turns(schedule):
        start = clock[r]
        for need in needed:
            when, where = done[need]
            start = max(start, when if where == r else when + costs.send)
        if len(actions) == 2 and costs.pair is not None:
            clock[r] = start + costs.of("pair", actions[0].stage)
        else:
            clock[r] = start + sum(seconds[kind, s] * (sizes[i] if kind != "S" else 1.0) for kind, s, i in actions)
        for action in actions:
            starts[r].append(start)
            ends[r].append(clock[r])
            done[action] = clock[r], r
    if sum(map(len, ends)) < sum(map(len, schedule.orders)):
        raise ValueError(f"{schedule.name} cannot be carried out: use validate() to see why")
    return Times(schedule, starts, ends)


def activations(schedule: Schedule, kept: float = 1.0) -> list[float]:
    """The most activations that each rank holds at any time, in units of what one micro-batch leaves in one stage.

    A forward pass adds 1, a whole backward pass takes 1 away; one in two parts takes 1 - kept away with I and `kept`
    with W. Depends on the order only.
    """
    change = {"F": 1.0, "B": -1.0, "I": kept - 1.0, "W": -kept, "S": 0.0}
    peaks = []
    for order in schedule.orders:
        live = peak = 0.0
        for action in order:
            live += change[action.kind]
            peak = max(peak, live)
        peaks.append(peak)
    return peaks
