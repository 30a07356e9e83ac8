"""The simulator: when everything in a schedule happens, exactly, for any costs, by following the orders once.

Idea      A rank does its actions in their order, each as soon as what it needs is there:

              start(a) = max(end of the action before it on this rank, end(n) + send for what it needs, n, elsewhere)

          One pass over all actions, each after what it needs (topological_order). If actions are left at its end, the
          schedule cannot be carried out.
Sends     Messages travel while their sender computes on, and take `send` seconds between two ranks, none within one.
Price     The bubble is what is idle of all ranks' time, p times the makespan. The zero-bubble papers take the longest
          span of one rank instead, from its own first start to its own last end: ranks that end later also began later,
          and begin the next step later. In training, what counts is how much later each step ends than the one before:
          `period`.
Left out  What messages take from each other when one link carries several at once; and what the copies of a stage take
          to sum up their gradients: a step waits until all of them exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard, cast

from .schedule import KINDS, Action, Schedule, repeat

Seconds = float | Sequence[float]


class Costs(NamedTuple):
    """Seconds of each action of a stage: one number, or one for each stage.

    B       the whole backward pass; None: I + W
    S       the optimizer step
    send    from the end of an action until its result is on another rank
    pair    a forward and a backward pass side by side (Schedule.overlapped); None: one after the other, F + B
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
        """Seconds of an action, or of a "pair"."""
        if kind == "B" and self.B is None:
            return self.of("I", stage) + self.of("W", stage)
        if kind == "pair" and self.pair is None:
            return self.of("F", stage) + self.of("B", stage)
        seconds = getattr(self, kind)
        return float(seconds[stage] if _one_each(seconds) else seconds)

    def chunked(self, v: int) -> Costs:
        """The costs of stages that are a v-th as large, so that a rank with v of them has as much to do as before."""
        per_stage = {name: getattr(self, name) for name in (*KINDS, "pair")}
        cut: dict[str, Any] = {name: _cut(x, v) for name, x in per_stage.items() if x is not None}
        return self._replace(**cut)

    def check(self, schedule: Schedule) -> None:
        """Raise ValueError unless there are as many numbers as needed, and none is negative or infinite."""
        lengths = dict.fromkeys((*KINDS, "pair"), ("stage", schedule.stages))
        lengths |= {"sizes": ("micro-batch", schedule.micro_batches)}
        for name, given in self._asdict().items():
            what, count = lengths.get(name, ("", 0))
            if _one_each(given) and len(given) != count:
                wanted = f"{count}, one for each {what}" if what else "one number"
                raise ValueError(f"costs: {name} has {len(given)} entries and must have {wanted}")
            for x in given if _one_each(given) else () if given is None else (given,):
                if not 0 <= x < float("inf"):
                    raise ValueError(f"costs: {name} has {x}: a cost must be finite and at least 0")
        if self.sizes is not None and self.pair is not None:
            raise ValueError(
                "costs: sizes and pair cannot be given together: what a pair of unequal sizes takes is open"
            )


def _one_each(seconds: Seconds | None) -> TypeGuard[Sequence[float]]:
    """Whether these are seconds of each stage (a list, an array), not one number for all."""
    return hasattr(seconds, "__len__")


def _cut(seconds: Seconds, v: int) -> Seconds:
    """A v-th of them."""
    return [x / v for x in seconds] if _one_each(seconds) else cast(float, seconds) / v


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
        return max(map(max, filter(None, self.ends)), default=0.0) - self.begin

    @property
    def begin(self) -> float:
        """The first start; 0 if there is none."""
        return min(map(min, filter(None, self.starts)), default=0.0)

    @cached_property
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
        return self._idle_of(self.makespan)

    @property
    def bubble_of_spans(self) -> float:
        """The same share of the longest span of a rank: the zero-bubble papers' rate."""
        return self._idle_of(max(self.spans, default=0.0))

    def _idle_of(self, seconds: float) -> float:
        return 1 - sum(self.busy) / (len(self.busy) * seconds) if seconds else 0.0


def _covered(starts: list[float], ends: list[float]) -> float:
    """Seconds that are covered by intervals, which may overlap."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(zip(starts, ends)):
        total += max(end - max(start, until), 0.0)
        until = max(until, end)
    return total


def simulate(schedule: Schedule, costs: Costs = UNIT) -> Times:
    """When every action starts and ends, the first at 0. Raises ValueError if one never can, or for wrong costs."""
    costs.check(schedule)
    starts, ends = [[] for _ in schedule.orders], [[] for _ in schedule.orders]
    done: dict[Action, tuple[float, int]] = {}  # when, and on which rank
    seconds = {(kind, s): costs.of(kind, s) for kind in KINDS for s in range(schedule.stages)}
    sizes = [1.0] * schedule.micro_batches if costs.sizes is None else costs.sizes
    clock = [0.0] * schedule.ranks
    for r, _, actions, needed in schedule.turns:
        start = clock[r]
        for need in needed:
            when, where = done[need]
            arrives = when if where == r else when + costs.send
            if arrives > start:
                start = arrives
        for gradient in schedule.summed.get(actions[0], ()):
            start = max(start, done[gradient][0])
        end = start
        if len(actions) == 2 and costs.pair is not None:
            end += costs.of("pair", actions[0].stage)
        else:
            for kind, s, i in actions:
                end += seconds[kind, s] * (sizes[i] if kind != "S" else 1.0)
        clock[r] = end
        for action in actions:
            starts[r].append(start)
            ends[r].append(end)
            done[action] = end, r
    if sum(map(len, ends)) < sum(map(len, schedule.orders)):
        raise ValueError(f"{schedule.name} cannot be carried out: use validate() to see why")
    return Times(schedule, starts, ends)


def period(schedule: Schedule, costs: Costs = UNIT, steps: int = 8) -> float:
    """Seconds from the end of one step to the end of the next, when the schedule is repeated without a pause.

    Simulates `steps` steps and takes the mean of the later half: the earlier ones may still be settling. (PipeDream has
    no steps: what one more micro-batch takes in the long run shows in a longer stream.)
    Raises ValueError for steps < 2.
    """
    if steps < 2:
        raise ValueError(f"a period is the time from one step's end to the next one's: steps >= 2, not {steps}")
    sizes = None if costs.sizes is None else [*costs.sizes] * steps
    ends = simulate(repeat(schedule, steps), costs._replace(sizes=sizes)).ends
    done = [max(own[t * len(own) // steps - 1] for own in ends) for t in (steps // 2, steps)]
    return (done[1] - done[0]) / (steps - steps // 2)


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
