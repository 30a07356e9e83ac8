"""Mixed criticality: two budgets for what must not fail, and a mode in which the rest is given up.

Idea      A critical task has an execution time that it is believed to need (low), and one that nobody doubts (high). As
          long as no critical job exceeds its low one, all tasks run. When one does, the others are dropped, and the
          critical ones have time for their high budgets: a degraded mode that is proved. (AMC.)
              low mode    R_LO = C(LO) + sum over higher j of ceil(R_LO / T_j) C_j(LO)
              high mode   R_HI = C(HI) + sum over higher critical j of ceil(R_HI / T_j) C_j(HI)
              the switch  R*   = C(HI) + sum over higher critical j of ceil(R* / T_j) C_j(HI)
                                       + sum over higher others j of ceil(R_LO / T_j) C_j(LO)
          This is AMC-rtb. AMC-max tries each moment s < R_LO of the switch, just after a release of another, and
          counts the others up to s only, and critical jobs that are due by s with their low budgets.
Before    everything with its high budget: most of the processor stands idle, to be sure
After     sets that need more than one processor with high budgets everywhere, and are proved with the switch
Price     Three fixed points a task; for AMC-max one more for each such moment. Whoever is dropped must be able to bear
          it.
Exact     Sufficient. A switch can come at any time up to R_LO; AMC-rtb takes the worst of both sides of it.
          AMC-max is never above it.
Left out  More than two levels; the way back, when the processor is idle.
Source    Vestal (2007); Baruah, Burns and Davis, "Response-Time Analysis for Mixed Criticality Systems" (2011),
          AMC-rtb and AMC-max.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .tasks import PeriodicTask, Schedulability, checked


@dataclass(frozen=True)
class CriticalTask:
    """A task with its low budget as execution time, and `high`, the budget of a critical one (0: not critical)."""

    task: PeriodicTask
    high: int = 0

    def __post_init__(self) -> None:
        name, low = self.task.name, self.task.execution
        if self.high and not low <= self.high <= self.task.deadline:
            raise ValueError(f"{name}: a high budget of {self.high} is not between {low} and {self.task.deadline}")
        if self.task.deadline > self.task.period or self.task.jitter or self.task.suspension:
            raise ValueError(f"{name}: the bound is for D <= T without jitter and suspension")

    @property
    def raised(self) -> PeriodicTask:
        """The task with its high budget, if it is critical."""
        return replace(self.task, execution=max(self.high, self.task.execution))


Switch = Callable[[CriticalTask, Sequence[CriticalTask], int], int]  # a bound, from those above and R_LO


def amc_rtb(tasks: Sequence[CriticalTask]) -> Schedulability:
    """Whether all deadlines are met in low mode, and those of critical tasks always. `tasks`: the highest first.

    responses: for each task the largest of its bounds that apply.
    """
    return _judged(tasks, _switch_rtb, "AMC-rtb")


def amc_max(tasks: Sequence[CriticalTask]) -> Schedulability:
    """The same with a bound at the switch that is never larger, and takes longer to work out."""
    return _judged(tasks, _switch_max, "AMC-max")


def _judged(tasks: Sequence[CriticalTask], switch: Switch, test: str) -> Schedulability:
    checked([each.task for each in tasks])
    found = []
    for place, each in enumerate(tasks):
        bounds = list(_bounds(each, tasks[:place], switch))
        found.append(max(bound for _, bound in bounds))
        for mode, bound in bounds:
            if bound > each.task.deadline:
                told = f"{each.task.name} may respond after more than its deadline of {each.task.deadline} {mode}"
                return Schedulability(None, f"{told} ({test})", (*found[:-1], None))
    return Schedulability(
        True, f"critical deadlines are met in both modes, the others in low mode ({test})", tuple(found)
    )


def _bounds(each: CriticalTask, higher: Sequence[CriticalTask], switch: Switch) -> Iterable[tuple[str, int]]:
    low = _least(each.task.execution, [other.task for other in higher], each.task.deadline)
    yield "in low mode", low
    if each.high and low <= each.task.deadline:
        critical = [other.raised for other in higher if other.high]
        yield "in high mode", _least(each.high, critical, each.task.deadline)
        yield "at the switch", switch(each, higher, low)


def _switch_rtb(each: CriticalTask, higher: Sequence[CriticalTask], low: int) -> int:
    dropped = sum(-(-low // o.task.period) * o.task.execution for o in higher if not o.high)
    return _least(each.high + dropped, [other.raised for other in higher if other.high], each.task.deadline)


def _switch_max(each: CriticalTask, higher: Sequence[CriticalTask], low: int) -> int:
    others = [other.task for other in higher if not other.high]
    critical = [(o.task.period, o.task.deadline, o.task.execution, o.high) for o in higher if o.high]
    moments = {0} | {moment for other in others for moment in range(0, low, other.period)}
    return max(_switch_at(s, each, others, critical) for s in moments)


def _switch_at(s: int, each: CriticalTask, others: Sequence[PeriodicTask], critical: Sequence[tuple]) -> int:
    """The response if a job exceeds its low budget s ticks after the release; any number above the deadline if
    beyond it.
    """
    own = each.high + sum((s // other.period + 1) * other.execution for other in others)
    w = own
    while w <= each.task.deadline:
        longer = own
        for T, D, C_low, C_high in critical:
            jobs = -(-w // T)
            late = max(0, min(-(-(w - s - (T - D)) // T) + 1, jobs))  # those that may be due after s
            longer += late * C_high + (jobs - late) * C_low
        if longer <= w:
            return w
        w = longer
    return w


def _least(own: int, higher: Sequence[PeriodicTask], deadline: int) -> int:
    """The least window that holds its own ticks and those of higher tasks; any number above the deadline if beyond
    it.
    """
    w = own
    while w <= deadline:
        longer = own + sum(-(-w // task.period) * task.execution for task in higher)
        if longer == w:
            return w
        w = longer
    return w


def meets_deadline(each: CriticalTask, above: Sequence[CriticalTask], switch: Switch = _switch_rtb) -> bool:
    """Whether a task meets its deadlines below others, whatever their order: what a search for priorities asks."""
    return all(bound <= each.task.deadline for _, bound in _bounds(each, above, switch))


def amc_priorities(tasks: Sequence[CriticalTask], tight: bool = False) -> list[CriticalTask] | None:
    """An order that `amc_rtb` proves (`tight`: `amc_max`), found as `priorities.audsley` does; None if there is
    none.
    """
    switch = _switch_max if tight else _switch_rtb
    above, below = list(tasks), []
    while above:
        lowest = next((t for t in above if meets_deadline(t, [o for o in above if o is not t], switch)), None)
        if lowest is None:
            return None
        above.remove(lowest)
        below.insert(0, lowest)
    return below


class OverrunGuard:
    """Watches a critical task's low budget: when it is used up, tasks that are not critical are dropped."""

    def __init__(self, low: int, others: Iterable[str]):
        self.low, self.others, self.budget = low, set(others), 0
        self.switched: int | None = None  # when it went to high mode

    def begin(self, now: int, idle: bool) -> None:
        """A job of the task begins."""
        self.budget = self.low if self.switched is None else 2**62

    def exhausted(self, engine: Any, subjob: Any) -> None:
        """The job exceeds its low budget: high mode from now on."""
        self.switched, self.budget = engine.now, 2**62
        engine.drop(self.others)


def simulated(tasks: Sequence[CriticalTask]) -> tuple[list[PeriodicTask], dict[str, OverrunGuard]]:
    """(tasks, accounts) for `simulate`: critical ones execute up to their high budgets, each watched by a guard."""
    others = [each.task.name for each in tasks if not each.high]
    guards = {each.task.name: OverrunGuard(each.task.execution, others) for each in tasks if each.high}
    return [each.raised for each in tasks], guards
