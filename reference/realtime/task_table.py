"""A set of three tasks as a table: bound, simulated response, who runs when. What a form in a page calls.

Idea      Priorities in the order of the rows, or earliest deadline first; jobs are interrupted, or run to their end.
          The bound is that of the analysis for these four cases, and the simulation starts at a common release. For
          jobs that are not interrupted this is not the worst start: the bound may be above all that is seen.
Left out  Earliest deadline first has no response times here: its test says yes or no for the whole set.
"""

from __future__ import annotations

from collections.abc import Sequence

from .demand import non_preemptive_edf, qpa
from .non_preemptive import non_preemptive_priority
from .response_time import fixed_priority
from .runs import SimulatedRun
from .simulate import simulate
from .tasks import PeriodicTask, Schedulability, hyperperiod, utilisation

SIMULATED = 1000  # ticks at most: a page answers at once
SHOWN = 40  # ticks
LONGEST = 100  # ticks of a period or deadline
RUNS, WAITS, NOTHING = "█", "░", "▁"  # as wide as each other in any font that has them


def task_table(
    C1: int, T1: int, D1: int, C2: int, T2: int, D2: int, C3: int, T3: int, D3: int, edf: int, interrupted: int
) -> list[dict[str, str | float | None]]:
    """A row for each task, and one for the set. C, T, D: ticks; edf: 1, or 0 for priorities in the order of the rows;
    interrupted: 1, or 0 for jobs that run to their end.

    Raises ValueError for times that no task can have, and for periods and deadlines of more than LONGEST ticks.
    """
    times = ((C1, T1, D1), (C2, T2, D2), (C3, T3, D3))
    if edf not in (0, 1) or interrupted not in (0, 1):
        raise ValueError(f"EDF and interrupted are 0 or 1, got {edf} and {interrupted}")
    if max(max(row) for row in times) > LONGEST or min(min(row) for row in times) < 1:
        raise ValueError(f"times are from 1 to {LONGEST} ticks here, got {times}")
    tasks = [PeriodicTask(f"task {i}", *row, preemptive=bool(interrupted)) for i, row in enumerate(times, start=1)]
    told = _test(tasks, edf, interrupted)
    run = simulate(tasks, "edf" if edf else "fp", until=min(hyperperiod(tasks), SIMULATED))
    late = [job.task.name for job in run.missed()]
    rows: list[dict[str, str | float | None]] = [
        {"ticks": task.name, "C/T": float(task.utilisation), "deadline": task.deadline, "bound on R": R,
         "simulated": run.response(task.name), "late jobs": late.count(task.name), "from time 0": strip(run, task)}
        for task, R in zip(tasks, told.responses or (None,) * len(tasks))
    ]  # fmt: skip
    word = "in time" if told else "not proved"
    total = {"ticks": "all", "C/T": float(utilisation(tasks)), "late jobs": len(late), "from time 0": word}
    return [*rows, dict.fromkeys(rows[0]) | total]


def _test(tasks: Sequence[PeriodicTask], edf: int, interrupted: int) -> Schedulability:
    if edf:
        return qpa(tasks) if interrupted else non_preemptive_edf(tasks)
    return fixed_priority(tasks) if interrupted else non_preemptive_priority(tasks)


def strip(run: SimulatedRun, task: PeriodicTask) -> str:
    """A letter a tick: RUNS, WAITS or NOTHING."""
    found = [NOTHING] * SHOWN
    for job in run.of(task.name):
        for tick in range(job.release, min(run.end if job.finish is None else job.finish, SHOWN)):
            found[tick] = WAITS
    for piece in run.slices:
        if piece.task == task.name:
            for tick in range(piece.start, min(piece.end, SHOWN)):
                found[tick] = RUNS
    return "".join(found)
