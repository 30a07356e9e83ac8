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

from .schedule import Action, Schedule, needs

Seconds = float | Sequence[float]


class Costs(NamedTuple):
    """Seconds of each action of a stage: one number, or one for each stage.

    B       the whole backward pass; None: I + W
    S       the optimizer step
    send    from the end of an action until its result is on another rank
    pair    a forward and a backward pass side by side (Schedule.together); None: one after the other, F + B
    """

    F: Seconds = 1.0
    I: Seconds = 1.0  # noqa: E741
    W: Seconds = 1.0
    B: Seconds | None = None
    S: Seconds = 0.0
    send: float = 0.0
    pair: Seconds | None = None

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
    p = schedule.ranks
    starts, ends = [[] for _ in range(p)], [[] for _ in range(p)]
    done: dict[Action, tuple[float, int]] = {}  # when, and on which rank
    clock, waiting = [0.0] * p, {}  # waiting: what has not been done yet -> the ranks that need it
    seconds = {(kind, s): costs.of(kind, s) for kind in "FBIWS" for s in range(schedule.stages)}
    todo = list(range(p))
    while todo:
        r = todo.pop()
        order = schedule.orders[r]
        pairs = schedule.together[r] if schedule.together else ()
        while len(ends[r]) < len(order):
            k = len(ends[r])
            group = order[k : k + 2] if k in pairs else order[k : k + 1]
            start = clock[r]
            for need in [need for action in group for need in needs(action, schedule)]:
                if need not in done:
                    waiting.setdefault(need, []).append(r)
                    break
                when, where = done[need]
                start = max(start, when if where == r else when + costs.send)
            else:
                took = sum(seconds[a.kind, a.stage] for a in group)
                if len(group) == 2 and costs.pair is not None:
                    took = costs.of("pair", group[0].stage)
                clock[r] = start + took
                for action in group:
                    starts[r].append(start)
                    ends[r].append(clock[r])
                    done[action] = clock[r], r
                    todo += waiting.pop(action, ())
                continue
            break
    if len(done) < sum(map(len, schedule.orders)):
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
