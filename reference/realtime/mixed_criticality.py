"""Mixed criticality: two budgets for what must not fail, and a mode in which the rest is given up.

Idea      A critical task has an execution time that it is believed to need (low), and one that nobody doubts (high). As
          long as no critical job exceeds its low one, all tasks run. When one does, the others are dropped, and the
          critical ones have time for their high budgets: a degraded mode that is proved. (AMC.)
              low mode    R_LO = C(LO) + sum over higher j of ceil(R_LO / T_j) C_j(LO)
              high mode   R_HI = C(HI) + sum over higher critical j of ceil(R_HI / T_j) C_j(HI)
              the switch  R*   = C(HI) + sum over higher critical j of ceil(R* / T_j) C_j(HI)
                                       + sum over higher others j of ceil(R_LO / T_j) C_j(LO)
Before    everything with its high budget: most of the processor stands idle, to be sure
After     sets that need more than one processor with high budgets everywhere, and are proved with the switch
Price     Three fixed points a task. Whoever is dropped must be able to bear it.
Exact     Sufficient. A switch can come at any time up to R_LO; the bound takes the worst of both sides of it.
Left out  More than two levels; the way back, when the processor is idle; AMC-max, which is tighter.
Source    Vestal (2007); Baruah, Burns and Davis, "Response-Time Analysis for Mixed Criticality Systems" (2011),
          AMC-rtb.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def amc_rtb(tasks: Sequence[CriticalTask]) -> Schedulability:
    """Whether all deadlines are met in low mode, and those of critical tasks always. `tasks`: the highest first.

    responses: for each task the largest of its bounds that apply.
    """
    checked([each.task for each in tasks])
    found = []
    for place, each in enumerate(tasks):
        bounds = list(_bounds(each, tasks[:place]))
        found.append(max(bound for _, bound in bounds))
        for mode, bound in bounds:
            if bound > each.task.deadline:
                told = f"{each.task.name} may respond after more than its deadline of {each.task.deadline} {mode}"
                return Schedulability(None, f"{told} (AMC-rtb)", (*found[:-1], None))
    return Schedulability(
        True, "critical deadlines are met in both modes, the others in low mode (AMC-rtb)", tuple(found)
    )


def _bounds(each: CriticalTask, higher: Sequence[CriticalTask]) -> Iterable[tuple[str, int]]:
    low = _least(each.task.execution, [other.task for other in higher], each.task.deadline)
    yield "in low mode", low
    if each.high and low <= each.task.deadline:
        critical = [other.raised for other in higher if other.high]
        yield "in high mode", _least(each.high, critical, each.task.deadline)
        dropped = sum(-(-low // o.task.period) * o.task.execution for o in higher if not o.high)
        yield "at the switch", _least(each.high + dropped, critical, each.task.deadline)


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


def meets_deadline(each: CriticalTask, above: Sequence[CriticalTask]) -> bool:
    """Whether a task meets its deadlines below others, whatever their order: what a search for priorities asks."""
    return all(bound <= each.task.deadline for _, bound in _bounds(each, above))


def amc_priorities(tasks: Sequence[CriticalTask]) -> list[CriticalTask] | None:
    """An order that `amc_rtb` proves, found as `priorities.audsley` does; None if there is none."""
    above, below = list(tasks), []
    while above:
        lowest = next((t for t in above if meets_deadline(t, [o for o in above if o is not t])), None)
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
