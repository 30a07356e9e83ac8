"""Tasks that suspend themselves: they wait for an accelerator, a drive or a message, and others execute meanwhile.

Idea      A job executes C and is suspended S in between. To itself that is as if it executed C + S. To those below it
          is worse than a task that executes C every T: what it does late comes close to what its next job does early,
          as with jitter. Bounds that hold, for D <= T:
              oblivious   suspension counts as execution: C + S for everybody
              jitter      R_k = C_k + S_k + sum over higher j of ceil((R_k + R_j - C_j) / T_j) C_j
Before    two shortcuts that are wrong: the others' suspension does not matter, as they do not execute then
          (`ignoring`); or it is jitter of S ticks (`suspension_as_jitter`), which was published in 2004 and taken back
          in 2018
After     simulation has responses above both, and none above the two bounds
Price     As `response_time`. Oblivious analysis gives away all that the suspension was for.
Exact     No: sufficient, and for suspensions anywhere in the job and of any length up to S.
Left out  Bounds that know where the segments are; earliest deadline first, where suspension does more harm.
Source    Chen, Nelissen, Huang, Yang, Brandenburg, Bletsas et al., "Many Suspensions, Many Problems: A Review of
          Self-Suspending Tasks in Real-Time Systems" (2019); Bletsas et al., "Errata for Three Papers (2004-05) on
          Fixed-Priority Scheduling with Self-Suspensions" (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .tasks import PeriodicTask, Schedulability, checked, on_time

Late = Callable[[PeriodicTask, int], int]  # jitter of a higher task, from it and its R


def oblivious(tasks: Sequence[PeriodicTask]) -> tuple[int | None, ...]:
    """R of each task with all suspension taken for execution; None above the deadline. `tasks`: the highest first."""
    return _bounds(tasks, lambda task, R: 0, suspension_executes=True)


def as_jitter(tasks: Sequence[PeriodicTask]) -> tuple[int | None, ...]:
    """R of each task; a higher one that suspends itself has a jitter of R - C."""
    return _bounds(tasks, lambda task, R: R - task.execution if task.suspension else 0)


def ignoring(tasks: Sequence[PeriodicTask]) -> tuple[int | None, ...]:
    """Wrong: higher tasks taken for tasks that execute C and do not suspend themselves."""
    return _bounds(tasks, lambda task, R: 0)


def suspension_as_jitter(tasks: Sequence[PeriodicTask]) -> tuple[int | None, ...]:
    """Wrong: a jitter of S."""
    return _bounds(tasks, lambda task, R: task.suspension)


def _bounds(tasks: Sequence[PeriodicTask], late: Late, suspension_executes: bool = False) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for place, task in enumerate(checked(tasks)):
        if task.deadline > task.period or task.jitter:
            raise ValueError(f"{task.name}: the bounds are for D <= T without jitter")
        higher = [
            (late(other, R or 0), other.period, other.longest if suspension_executes else other.execution)
            for other, R in zip(tasks[:place], found)
        ]
        R: int | None = task.longest if None not in found else None
        while R is not None:
            longer = task.longest + sum(-(-(R + J) // T) * C for J, T, C in higher)
            if longer == R:
                break
            R = longer if longer <= task.deadline else None
        found.append(R)
    return tuple(found)


def suspending(tasks: Sequence[PeriodicTask]) -> Schedulability:
    """Schedulable if one of the two bounds says so for each task; unknown otherwise."""
    tasks = checked(tasks)
    found = [min((R for R in both if R is not None), default=None) for both in zip(oblivious(tasks), as_jitter(tasks))]
    proved = on_time(tasks, found, "self-suspension")
    return proved if proved else proved._replace(schedulable=None)
