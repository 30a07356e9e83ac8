"""Offsets: tasks whose first releases are apart by design, so that they never meet. Exact, by the schedule itself.

Idea      If two tasks can never be released together, the critical instant does not occur, and `response_time` is too
          careful. With fixed offsets, no jitter and worst-case execution there is one schedule only, and it repeats:
          all that can happen has happened from the largest offset on within two hyperperiods.
Before    C, T of 2, 4 and 2, 4 with the deadlines 2 and 2: released together, the second is late
After     offsets 0 and 2: both are done at once
Price     A simulation over max O + 2 H: hopeless for periods without a common divisor.
Exact     For one processor, preemptive, no jitter. Jobs that execute for less time than C are not later.
Left out  Clocks that drift apart: an offset must be kept by somebody.
Source    Leung and Merrill, "A Note on Preemptive Scheduling of Periodic, Real-Time Tasks" (1980); Audsley (1991).
"""

from __future__ import annotations

from collections.abc import Sequence

from .simulate import simulate
from .tasks import PeriodicTask, Schedulability, checked, hyperperiod, on_time, utilisation


def response_times(tasks: Sequence[PeriodicTask], policy: str = "fp") -> tuple[int | None, ...]:
    """R of each task with its offset; None for all if U is above 1. policy: "fp" in the order of `tasks`, or "edf"."""
    tasks = checked(tasks)
    for task in tasks:
        if task.jitter or task.suspension or not task.preemptive:
            raise ValueError(f"{task.name}: exact only for preemptive tasks without jitter and suspension")
    if utilisation(tasks) > 1:
        return (None,) * len(tasks)
    end = max(task.offset for task in tasks) + 2 * hyperperiod(tasks)
    run = simulate(tasks, policy, until=end)
    return tuple(run.response(task.name) for task in tasks)


def with_offsets(tasks: Sequence[PeriodicTask], policy: str = "fp") -> Schedulability:
    """Whether every job meets its deadline, these offsets kept."""
    return on_time(checked(tasks), response_times(tasks, policy), "the schedule, which repeats")
