"""The simulation: tasks on processors under a policy, event by event, in whole ticks.

Idea      What an analysis claims for all cases, one run shows for one. A run that misses a deadline refutes a test that
          said yes; a run at the critical instant has the response time that an exact analysis says.
Before    tasks, a policy for each kind of processor, times of release, times of execution
After     a `SimulatedRun`: jobs with their times, slices with their processors, preemptions, migrations
              run = simulate([PeriodicTask("a", 1, 4), PeriodicTask("b", 2, 6), PeriodicTask("c", 3, 8)], "fp")
              run.response("c")          # 10: with priorities in this order it misses its deadline
              run.missed()               # the jobs that did
Price     A few operations an event. What waits is searched, so hundreds of tasks that wait at once are slow.
Exact     One job of a task executes at a time, those of a task in the order of their release. At one moment, what ends
          comes before what is released. Of equal keys the job that executes goes on; else the one released first.
Left out  Caches: `switch` stands for what a change of jobs costs.
Try       examples in the tests: tests/realtime/test_simulate.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any

from .dispatch import SchedulingPolicy, policy_named
from .engine import SchedulingEngine
from .locks import LockTable
from .runs import SimulatedRun
from .tasks import CPU, PeriodicTask, Segment, checked, hyperperiod

Draw = Callable[[PeriodicTask, Segment, Random], int]  # ticks that a segment or a suspension takes this time
Pattern = Callable[[PeriodicTask, Random], Iterator[tuple[int, int]]]  # (arrival, release), one after the other


def periodic(task: PeriodicTask, rng: Random) -> Iterator[tuple[int, int]]:
    """Arrivals at O, O + T, O + 2 T, ...; each job is released when it arrives."""
    return ((task.offset + k * task.period,) * 2 for k in count())


def densest(task: PeriodicTask, rng: Random) -> Iterator[tuple[int, int]]:
    """The critical instant: the first job is as late as jitter allows, all others are not late at all."""
    arrivals = (task.offset - task.jitter + k * task.period for k in count())
    return ((arrival, max(task.offset, arrival)) for arrival in arrivals)


def jittered(task: PeriodicTask, rng: Random) -> Iterator[tuple[int, int]]:
    """Periodic arrivals; each release is late by 0 to J ticks, and none overtakes the one before."""
    release = 0
    for k in count():
        arrival = task.offset + k * task.period
        release = max(release, arrival + rng.randint(0, task.jitter))
        yield arrival, release


def sporadic(task: PeriodicTask, rng: Random) -> Iterator[tuple[int, int]]:
    """Arrivals at least T apart: half of them are, the others up to T later; late by 0 to J ticks."""
    arrival, release = task.offset + rng.randint(0, task.period), 0
    while True:
        release = max(release, arrival + rng.randint(0, task.jitter))
        yield arrival, release
        arrival += task.period + (rng.randint(0, task.period) if rng.random() < 0.5 else 0)


def triggered(task: PeriodicTask, rng: Random) -> Iterator[tuple[int, int]]:
    """No releases of its own: another task's completion releases it (`triggers`)."""
    return iter(())


def uniform(least: float) -> Draw:
    """Execution times between `least` of the worst case and the worst case, all equally likely."""
    if not 0 < least <= 1:
        raise ValueError(f"the least share of the worst case is above 0 and at most 1, got {least}")
    return lambda task, segment, rng: rng.randint(max(1, round(least * segment.ticks)), segment.ticks)


def simulate(
    tasks: Sequence[Any],
    policy: str | SchedulingPolicy | Mapping[str, str | SchedulingPolicy] = "fp",
    *,
    until: int | None = None,
    processors: int | Mapping[str, int] = 1,
    releases: Pattern | Mapping[str, Pattern] = periodic,
    execution: Draw | None = None,
    seed: int = 0,
    locks: LockTable | None = None,
    switch: int = 0,
    accounts: Mapping[str, Any] | None = None,
    triggers: Mapping[str, str] | None = None,
    drain: bool = True,
) -> SimulatedRun:
    """Simulate tasks (`PeriodicTask`, `DagTask`) and return the run.

    policy: "fp" (priorities in the order of `tasks`), "edf", "llf", or a `SchedulingPolicy`; or one for each kind of
    processor. until: releases end before it; by default after a hyperperiod, or two and the largest offset.
    processors: how many CPUs, or how many of each kind: {"cpu": 2, "gpu": 1, "bus": 1}.
    releases: a pattern for all tasks, or by name (others are periodic). execution: a draw; worst case without.
    locks: who may take which lock. switch: ticks that a processor needs to begin with another job than its last.
    accounts: budgets by the task's name (`servers`, `mixed_criticality`). triggers: {"camera": "detector"} releases a
    detector's job whenever one of the camera's is done. drain: execute what was released to the end, or stop at
    `until`.

    Raises ValueError for names or kinds of processor that are not there.
    """
    tasks = checked(tasks)
    kinds = {CPU: processors} if isinstance(processors, int) else dict(processors)
    _check(tasks, kinds, triggers or {}, accounts or {})
    if until is None:
        latest = max(task.offset for task in tasks)
        until = hyperperiod(tasks) + (latest + hyperperiod(tasks) if latest else 0)
    chosen = {kind: policy.get(kind, "fp") if isinstance(policy, Mapping) else policy for kind in kinds}
    policies = {kind: policy_named(one, tasks) if isinstance(one, str) else one for kind, one in chosen.items()}
    randoms = {task.name: Random(f"{seed}/{task.name}") for task in tasks}

    def segments(task: Any, worst: Sequence[Segment]) -> Sequence[Segment]:
        if execution is None:
            return worst
        rng = randoms[task.name]
        return [s._replace(ticks=execution(task, s, rng)) for s in worst]

    patterns = releases if isinstance(releases, Mapping) else {task.name: releases for task in tasks}
    times = {task.name: (task, patterns.get(task.name, periodic)(task, randoms[task.name])) for task in tasks}
    engine = SchedulingEngine(kinds, policies, locks, switch, segments, accounts or {}, triggers or {})
    return engine.carry_out(times, until, drain)


def _check(tasks: Sequence[Any], kinds: Mapping[str, int], triggers: Mapping, accounts: Mapping) -> None:
    names = {task.name for task in tasks}
    if unknown := (set(triggers) | set(triggers.values()) | set(accounts)) - names:
        raise ValueError(f"there is no task {', '.join(sorted(unknown))}, only {', '.join(sorted(names))}")
    if empty := [kind for kind, number in kinds.items() if number < 1]:
        raise ValueError(f"at least 1 processor of each kind, got {kinds[empty[0]]} of {empty[0]}")
    for task in tasks:
        for segments, _ in task.parts:
            if lost := {segment.on for segment in segments} - {None, *kinds}:
                raise ValueError(f"{task.name} needs {', '.join(sorted(lost))}, and there is only {', '.join(kinds)}")
