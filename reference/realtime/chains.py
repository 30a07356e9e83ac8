"""Chains of tasks: from what a sensor sees to what an actuator does. Reaction time and data age.

Idea      Tasks of a chain have periods of their own and leave their result in a register; a job reads when it starts
          and writes when it ends. Two questions, which are not the sum of response times:
              reaction    something happens just after the first task has read. When has the last one answered it?
              age         how old is what the last task has put out, just before it is put out anew?
          Either is at most the sum of T_i + R_i: each task may just have read when its input is written.
          If instead the end of a job releases the next task, that sampling is gone, and what is late makes the next
          release late: its jitter is the response time so far. Jitter and responses are worked out together (holistic).
Before    50 + 30 + 10 ms of execution
After     with periods of 100, 100 and 20 ms and responses of 60, 90 and 10: up to 380 ms
Price     The bound is a sum. The exact values need the schedule.
Exact     `reaction_time` and `data_age` of a run are exact for that run. Over a whole periodic schedule both have the
          same largest value (Guenzel et al.).
Left out  Clocks that drift; messages between computers, which are tasks on a bus here.
Source    Davare et al., "Period Optimization for Hard Real-Time Distributed Automotive Systems" (2007); Feiertag et al.
          (2008); Guenzel et al., "On the Equivalence of Maximum Reaction Time and Maximum Data Age for Cause-Effect
          Chains" (2023); Tindell and Clark, "Holistic Schedulability Analysis for Distributed Hard Real-Time Systems"
          (1994); Henzinger, Horowitz and Kirsch, "Giotto" (2001), for logical execution times.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from . import non_preemptive
from .response_time import response_time
from .runs import SimulatedRun
from .tasks import PeriodicTask, checked

Accesses = list[tuple[int, int]]  # of each job of a task, when it reads and when it writes, in this order


def davare(tasks: Sequence[PeriodicTask], responses: Sequence[int]) -> int:
    """The bound on reaction time and data age: the sum of T + R along the chain. R includes jitter; R <= T."""
    for task, R in zip(tasks, responses):
        if task.period < R:
            raise ValueError(f"{task.name}: the bound is for R <= T, got R = {R} and T = {task.period}")
    return sum(task.period + R for task, R in zip(tasks, responses, strict=True))


def accesses(run: SimulatedRun, chain: Sequence[str]) -> list[Accesses]:
    """Of each task of a chain, when its jobs start (read) and end (write)."""
    return [
        [(job.start, job.finish) for job in run.of(name) if job.start is not None and job.finish is not None]
        for name in chain
    ]


def logical_accesses(tasks: Sequence[PeriodicTask], until: int) -> list[Accesses]:
    """The same under logical execution times: read at the arrival, write at the deadline, whatever the schedule.

    Nothing depends on execution times any more; the price is that nothing is early.
    """
    return [[(t, t + task.deadline) for t in range(task.offset, until, task.period)] for task in tasks]


def reactions(chain: Sequence[Accesses]) -> list[int]:
    """For each event just after a read of the first task: ticks until the last task has written an answer.

    An event after the last read that is followed up is left out.
    """
    found = []
    for (before, _), (_, written) in zip(chain[0], chain[0][1:]):
        for task in chain[1:]:
            place = bisect_left(task, (written, -1))  # the first job that reads what was written
            if place == len(task):
                break
            written = task[place][1]
        else:
            found.append(written - before)
    return found


def ages(chain: Sequence[Accesses]) -> list[int]:
    """For each output of the last task: how old its data is when the next output replaces it.

    Outputs for which there was no data yet are left out.
    """
    found = []
    writes = [[written for _, written in task] for task in chain]
    for (read, _), (_, replaced) in zip(chain[-1], chain[-1][1:]):
        for task, ends in zip(reversed(chain[:-1]), reversed(writes[:-1])):
            place = bisect_right(ends, read) - 1  # the last job that had written by then
            if place < 0:
                break
            read = task[place][0]
        else:
            found.append(replaced - read)
    return found


def reaction_time(run: SimulatedRun, chain: Sequence[str]) -> int:
    """The longest reaction of a chain in a run. Raises ValueError if no reaction was seen to its end."""
    return max(reactions(accesses(run, chain)))


def data_age(run: SimulatedRun, chain: Sequence[str]) -> int:
    """The oldest data that a chain's output was made of in a run."""
    return max(ages(accesses(run, chain)))


def holistic(tasks: Sequence[PeriodicTask], triggers: dict[str, str]) -> dict[str, int | None]:
    """R of each task from the arrival of its chain's first one, where completion releases the next: fixed priorities.

    tasks: the highest priority first, each with a single segment on one processor, preemptive or not, all of a
    processor alike; a chain has one period. triggers: as in `simulate`. None for all if one grows above the largest
    deadline.
    """
    tasks = checked(tasks)
    before = {after: first for first, after in triggers.items()}
    kind = {task.name: task.segments[0].on for task in tasks}
    period = {task.name: task.period for task in tasks}
    for after, first in before.items():
        if period[after] != period[first]:
            raise ValueError(f"{first} every {period[first]} ticks cannot release {after} every {period[after]}")
    jitter: dict[str, int] = {task.name: task.jitter for task in tasks}
    limit = max(task.deadline for task in tasks)
    while True:
        late = [replace(task, jitter=jitter[task.name]) for task in tasks]
        found = {task.name: _on_its_processor(task, late, kind) for task in late}
        following = {name: found[before[name]] if name in before else jitter[name] for name in jitter}
        if any(R is None or limit < R for R in found.values()):
            return dict.fromkeys(found)  # the others' values have not settled, either
        if following == jitter:
            return found
        jitter = following  # type: ignore[assignment]


def _on_its_processor(task: PeriodicTask, tasks: Sequence[PeriodicTask], kind: dict[str, str | None]) -> int | None:
    """R of a task among those of its processor."""
    mine = [other for other in tasks if kind[other.name] == kind[task.name]]
    place = mine.index(task)
    above, below = mine[:place], mine[place + 1 :]
    if len({other.preemptive for other in mine}) > 1:
        raise ValueError(f"all tasks of a processor are preemptive, or none is: {[other.name for other in mine]}")
    return response_time(task, above) if task.preemptive else non_preemptive.response_time(task, above, below)
