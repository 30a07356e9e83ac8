"""Global scheduling: all processors take from one queue. Tests that are sufficient, and no more.

Idea      On m processors a task waits only while all m do other work. What others can do in a window is bounded; if
          that is less than m times the time that the task may wait, it is not late.
              GFB   U <= m - (m - 1) max U                                                        EDF, in one line
              BCL   for each k: sum of min(W_i, D_k - C_k + 1) < m (D_k - C_k + 1)                EDF, task by task
              RTA   R_k = C_k + floor(sum over higher i of min(W_i(R_k), R_k - C_k + 1) / m)      fixed priorities
Before    one processor: released together is the worst that can happen
After     several: it is not (a test by simulation from a common release proves nothing), and a load of little more than
          1 may be too much for any number of processors (Dhall's effect)
Price     n, n^2, and pseudo-polynomial.
Exact     No. None says yes to a set that can be late; each says nothing about sets that another proves. Deadlines
          within the period.
Left out  Tighter tests (Baruah 2007, Guan et al. 2009), and exact ones, which search states.
Source    Goossens, Funk and Baruah, "Priority-Driven Scheduling of Periodic Task Systems on Multiprocessors" (2003);
          Bertogna, Cirinei and Lipari, "Improved Schedulability Analysis of EDF on Multiprocessor Platforms" (2005);
          Bertogna and Cirinei, "Response-Time Analysis for Globally Scheduled Symmetric Multiprocessor Platforms"
          (2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .tasks import PeriodicTask, Schedulability, checked


def gfb(tasks: Sequence[PeriodicTask], processors: int) -> Schedulability:
    """Global EDF by the sum and the largest of the densities."""
    tasks = _constrained(tasks, processors)
    total, most = sum((t.density for t in tasks), Fraction(0)), max(t.density for t in tasks)
    bound = processors - (processors - 1) * most
    told = f"the densities sum to {float(total):.4f}, and the bound is {float(bound):.4f} (GFB)"
    return Schedulability(True if total <= bound else None, told)


def bcl(tasks: Sequence[PeriodicTask], processors: int) -> Schedulability:
    """Global EDF, task by task: what jobs that are due with a job of task k can take away from it.

    Weak where periods differ by more than ten times: a long job that began early takes all the time of a short one.
    """
    tasks = _constrained(tasks, processors)
    for task in tasks:
        room = task.deadline - task.execution + 1  # it is late if it waits that long
        taken = sum(min(_due_within(task.deadline, other), room) for other in tasks if other is not task)
        if taken >= processors * room:
            return Schedulability(None, f"{task.name} may wait {taken // processors} of {room} ticks (BCL)")
    return Schedulability(True, "no task can be made to wait too long (BCL)")


def _due_within(window: int, task: PeriodicTask) -> int:
    """Ticks of a task's jobs in a window at whose end one of them is due, the first as late as it may be."""
    whole = max(0, (window - task.deadline) // task.period + 1)
    return whole * task.execution + min(task.execution, max(0, window - whole * task.period))


def response_times(tasks: Sequence[PeriodicTask], processors: int) -> tuple[int | None, ...]:
    """Global fixed priorities: a bound on R of each task, the highest first; None where it is above the deadline."""
    tasks = _constrained(tasks, processors)
    found: list[int | None] = []
    for place, task in enumerate(tasks):
        found.append(_bound(task, list(zip(tasks[:place], found)), processors))
    return tuple(found)


def _bound(task: PeriodicTask, higher: list[tuple[PeriodicTask, int | None]], processors: int) -> int | None:
    R, C = task.execution, task.execution
    if any(response is None for _, response in higher):
        return None
    while task.deadline >= R:
        longer = C + sum(min(_carried(R, other, response or 0), R - C + 1) for other, response in higher) // processors
        if longer == R:
            return R
        R = longer
    return None


def _carried(window: int, task: PeriodicTask, response: int) -> int:
    """Ticks of a task's jobs in a window, the first released before it and as late as its R allows."""
    longer = window + response - task.execution
    whole = longer // task.period
    return whole * task.execution + min(task.execution, longer - whole * task.period)


def global_fixed_priority(tasks: Sequence[PeriodicTask], processors: int) -> Schedulability:
    """Global fixed priorities: schedulable if each bound is within its deadline; unknown otherwise."""
    found = response_times(tasks, processors)
    late = [task.name for task, R in zip(tasks, found) if R is None]
    told = f"{late[0]} has no bound within its deadline" if late else "every bound is within its deadline"
    return Schedulability(None if late else True, f"{told} (global response-time analysis)", found)


def _constrained(tasks: Sequence[PeriodicTask], processors: int) -> list[PeriodicTask]:
    if processors < 1:
        raise ValueError(f"at least 1 processor, got {processors}")
    tasks = checked(tasks)
    for task in tasks:
        if task.deadline > task.period or task.jitter or task.suspension or not task.preemptive:
            raise ValueError(f"{task.name}: the test is for D <= T, preemptive, without jitter and suspension")
    return tasks
