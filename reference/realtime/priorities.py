"""Priorities: which task goes first. Rate-monotonic, deadline-monotonic, and an order found by a test.

Idea      The shorter the deadline, the higher the priority. No fixed order does better for preemptive tasks that are
          released together with D <= T; with D = T that is the order of the rates. Elsewhere (non-preemptive tasks,
          deadlines beyond the period, offsets) neither is the best. Audsley's search is: find any task that can bear
          the lowest priority, put it there, and go on with the rest.
Price     Audsley: at most n (n + 1) / 2 tests instead of n! orders.
Exact     If the test of a task depends on which tasks are above and below it, and not on their order, and a task that
          passes still does with a higher priority.
Left out  Ties: each task has a level of its own.
Source    Liu and Layland (1973); Leung and Whitehead, "On the Complexity of Fixed-Priority Scheduling of Periodic,
          Real-Time Tasks" (1982); Audsley, "On Priority Assignment in Fixed Priority Scheduling" (2001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .response_time import response_time
from .tasks import PeriodicTask, checked

Test = Callable[[PeriodicTask, Sequence[PeriodicTask], Sequence[PeriodicTask]], bool]  # task, above it, below it


def rate_monotonic(tasks: Sequence[PeriodicTask]) -> list[PeriodicTask]:
    """The tasks with the shortest period first; those of one period stay in the order given."""
    return sorted(checked(tasks), key=lambda task: task.period)


def deadline_monotonic(tasks: Sequence[PeriodicTask]) -> list[PeriodicTask]:
    """The tasks with the shortest deadline less jitter first: optimal for preemptive tasks with D <= T."""
    return sorted(checked(tasks), key=lambda task: task.deadline - task.jitter)


def meets_deadline(task: PeriodicTask, above: Sequence[PeriodicTask], below: Sequence[PeriodicTask]) -> bool:
    """The test for preemptive tasks: R <= D. Those below do not matter."""
    response = response_time(task, above)
    return response is not None and response <= task.deadline


def audsley(tasks: Sequence[PeriodicTask], test: Test = meets_deadline) -> list[PeriodicTask] | None:
    """An order of priorities, the highest first, in which each task passes the test; None if there is none."""
    above, below = checked(tasks), []
    while above:
        for task in above:
            others = [other for other in above if other is not task]
            if test(task, others, below):
                above, below = others, [task, *below]
                break
        else:
            return None
    return below
