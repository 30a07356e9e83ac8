"""Response-time analysis: how long a job takes at worst, under preemptive fixed priorities on one processor. Exact.

Idea      The worst moment for a task is the critical instant: it and all tasks of higher priority are released
          together, and from then on as early as they may. A window of length w has ceil((w + J_j) / T_j) jobs of task j
          in it. The job is done when the window holds all of them, what blocks it, and its own C:
              w = B + (q + 1) C + sum over higher j of ceil((w + J_j) / T_j) C_j            R = max over q of w - q T +
              J
          A deadline after the next release lets several jobs of one task wait for each other: q counts them, until the
          processor has nothing of that priority left to do (the level-i busy period).
Before    C/T of 3/7, 3/12, 5/20: U = 0.93, above the bound of 0.78: unknown
After     the third task: w = 5, 11, 14, 17, 20, 20: R = 20, just in time
Price     Pseudo-polynomial: each step is a division a task, and the number of steps grows with the periods' ratio.
Exact     For periodic and sporadic tasks alike: the simulated response at the critical instant equals R. With blocking,
          suspension or known offsets R is an upper bound; `offsets` is exact for the latter.
Source    Joseph and Pandya, "Finding Response Times in a Real-Time System" (1986); Lehoczky, "Fixed Priority Scheduling
          of Periodic Task Sets with Arbitrary Deadlines" (1990); Tindell, Burns and Wellings, "An Extendible Approach
          for Analyzing Fixed Priority Hard Real-Time Tasks" (1994), for jitter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from .tasks import PeriodicTask, Schedulability, checked, hyperperiod, on_time, overload


def response_time(task: PeriodicTask, higher: Sequence[PeriodicTask], blocking: int = 0) -> int | None:
    """R of a task, from its arrival, below tasks of higher priority; None if it grows without bound.

    blocking: B, for how long tasks of lower priority may hold it up.
    """
    return max(instances(task, higher, blocking), default=None)


def instances(task: PeriodicTask, higher: Sequence[PeriodicTask], blocking: int = 0) -> Iterator[int]:
    """Yield the response times of the jobs of one busy period, the first at the critical instant; none if U > 1.

    With U = 1 a busy period need not end; the responses then repeat after a hyperperiod.
    """
    load = overload([task, *higher])
    if load > 0:
        return
    C, T, J = task.execution, task.period, task.jitter
    w = blocking + C
    for q in range(hyperperiod([task, *higher]) // T) if load == 0 else count():
        w = window(max(w, blocking + (q + 1) * C), blocking + (q + 1) * C, higher)
        yield w - q * T + J
        if w <= (q + 1) * T - J:  # done before the next job can be released
            return


def window(w: int, own: int, higher: Sequence[PeriodicTask]) -> int:
    """The least window from w on that holds `own` ticks and all that tasks of higher priority release in it."""
    while True:
        longer = own + sum(-(-(w + task.jitter) // task.period) * task.execution for task in higher)
        if longer <= w:
            return longer
        w = longer


def response_times(tasks: Sequence[PeriodicTask], blocking: Mapping[str, int] | None = None) -> tuple[int | None, ...]:
    """R of each task; `tasks` in order of priority, the highest first. blocking: B by the task's name."""
    tasks, B = checked(tasks), blocking or {}
    return tuple(response_time(task, tasks[:place], B.get(task.name, 0)) for place, task in enumerate(tasks))


def fixed_priority(tasks: Sequence[PeriodicTask], blocking: Mapping[str, int] | None = None) -> Schedulability:
    """Whether each R is within its deadline; exact where nothing blocks and no task suspends itself."""
    for task in checked(tasks):
        if task.suspension:
            raise ValueError(f"{task.name} suspends itself: the analyses for that are in realtime.self_suspension")
    return on_time(tasks, response_times(tasks, blocking), "response-time analysis")
