"""Processor demand: whether earliest deadline first meets all deadlines on one processor. Exact.

Idea      In any interval of length t, all jobs that are released and due in it must be executed in it. Their work is
          largest if all tasks are released at its beginning:
              h(t) = sum of max(0, floor((t + J - D) / T) + 1) C
          Earliest deadline first misses no deadline if and only if h(t) <= t for all t, and only deadlines up to a
          limit need a look. Quick processor-demand analysis (QPA) looks at few of them: it starts at the end, and h(t)
          < t says that between h(t) and t nothing can be wrong.
Before    C, T, D of 3 6 5, 2 8 4 and 3 15 10: U = 0.95 tells nothing
After     h(4) = 2, h(5) = 5, h(10) = 8, h(11) = 11, h(12) = 13, one tick too much: not schedulable
Price     All deadlines up to the limit, which grows as U nears 1; QPA: a few of them, as a rule.
Exact     For periodic and sporadic tasks without offsets, any deadlines. Non-preemptive: exact for sporadic tasks.
Source    Baruah, Rosier and Howell, "Algorithms and Complexity Concerning the Preemptive Scheduling of Periodic,
          Real-Time Tasks on One Processor" (1990); Zhang and Burns, "Schedulability Analysis for Real-Time Systems with
          EDF Scheduling" (2009), for QPA; Jeffay, Stanat and Martel (1991) and George, Rivierre and Spuri (1996) for
          non-preemptive tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor

from .tasks import PeriodicTask, Schedulability, checked, hyperperiod, utilisation


def demand(tasks: Sequence[PeriodicTask], t: int) -> int:
    """h(t): the ticks of all jobs that can be released and due in an interval of t ticks."""
    return sum(max(0, (t + task.jitter - task.deadline) // task.period + 1) * task.execution for task in tasks)


def busy_period(tasks: Sequence[PeriodicTask]) -> int:
    """The longest time for which the processor never idles, all tasks released at its beginning; U below 1, or no J."""
    length, longer = 0, sum(task.execution for task in tasks)
    while length != longer:
        length, longer = longer, sum(-(-(longer + t.jitter) // t.period) * t.execution for t in tasks)
    return length


def limit(tasks: Sequence[PeriodicTask]) -> int:
    """The interval up to which demand must be looked at: the shortest of those that are known. U must be at most 1."""
    slack = max(task.deadline - task.jitter for task in tasks)
    U = utilisation(tasks)
    if U == 1:
        return hyperperiod(tasks) + max(0, slack)
    excess = sum((task.period + task.jitter - task.deadline) * task.utilisation for task in tasks)
    by_excess = max(Fraction(slack), excess / (1 - U))  # from there on h(t) <= U t + excess <= t
    return max(min(floor(by_excess), busy_period(tasks)), 0)


def deadlines(tasks: Sequence[PeriodicTask], end: int) -> Iterator[int]:
    """The intervals up to `end` at whose ends jobs are due, shortest first."""
    found = {max(0, t.deadline - t.jitter) for t in tasks if t.deadline - t.jitter <= end}
    for t in tasks:
        found |= set(range(t.deadline - t.jitter, end + 1, t.period)) - set(range(t.deadline - t.jitter, 0))
    yield from sorted(found)


def processor_demand(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Look at every deadline up to the limit."""
    tasks = _plain(tasks)
    if (U := utilisation(tasks)) > 1:
        return _overload(U)
    for t in deadlines(tasks, limit(tasks)):
        if (work := demand(tasks, t)) > t:
            return _too_much(work, t)
    return Schedulability(True, "in no interval more work is due than it has ticks (processor demand)")


def qpa(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Quick processor-demand analysis: the same answer from fewer intervals."""
    return Schedulability(*_qpa(tasks)[0])


def qpa_steps(tasks: Sequence[PeriodicTask]) -> list[tuple[int, int]]:
    """The intervals that QPA looks at, from the longest on, each with its demand."""
    return _qpa(tasks)[1]


def _qpa(tasks: Sequence[PeriodicTask]) -> tuple[Schedulability, list[tuple[int, int]]]:
    tasks, steps = _plain(tasks), []
    if (U := utilisation(tasks)) > 1:
        return _overload(U), steps
    least = min(max(0, task.deadline - task.jitter) for task in tasks)
    t = last_deadline(tasks, limit(tasks) + 1)
    while t is not None:
        work = demand(tasks, t)
        steps.append((t, work))
        if work > t:
            return _too_much(work, t), steps
        if work <= least:
            break
        t = work if work < t else last_deadline(tasks, t)
    return Schedulability(True, f"shown by {len(steps)} intervals (QPA)"), steps


def last_deadline(tasks: Sequence[PeriodicTask], before: int) -> int | None:
    """The longest interval shorter than `before` at whose end a job is due; None if there is none."""
    found = [
        first + (before - 1 - first) // task.period * task.period
        for task in tasks
        if (first := task.deadline - task.jitter) < before
    ]
    return max((max(0, t) for t in found if before > 0), default=None)


def non_preemptive_edf(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Jobs run to their end once begun: a longer interval's job may have begun one tick before all others are
    released.
    """
    tasks = checked(tasks)
    if (U := utilisation(tasks)) > 1:
        return _overload(U)
    end = max(limit(tasks), max(task.deadline for task in tasks))
    for t in deadlines(tasks, end):
        blocking = max((task.execution - 1 for task in tasks if task.deadline - task.jitter > t), default=0)
        if (work := demand(tasks, t) + blocking) > t:
            return _too_much(work, t)
    return Schedulability(
        True, "in no interval more work is due or has begun than it has ticks (non-preemptive demand)"
    )


def _plain(tasks: Sequence[PeriodicTask]) -> list[PeriodicTask]:
    tasks = checked(tasks)
    for task in tasks:
        if task.suspension or not task.preemptive:
            raise ValueError(f"{task.name}: the test is for preemptive tasks that do not suspend themselves")
    return tasks


def _too_much(work: int, t: int) -> Schedulability:
    return Schedulability(False, f"in an interval of {t} ticks, {work} ticks of work are due (processor demand)")


def _overload(U: Fraction) -> Schedulability:
    return Schedulability(False, f"U = {float(U):.4f} is more than one processor has")
