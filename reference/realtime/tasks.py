"""Tasks: what is released when, how long it executes, and by when it must be done. Analyses and simulation share them.

All times are whole ticks (a nanosecond, a microsecond: what you choose), so every result is exact. The letters are
those of the literature: C execution, T period, D deadline, J jitter, B blocking, R response time.

          arrival      release                      completion      deadline
             |--- J ------|... waits ... executes C ...|                |
             |<------------------ R ------------------>|                |
             |<--------------------------- D -------------------------->|
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

CPU = "cpu"
AnyTask = TypeVar("AnyTask", bound=Any)  # a PeriodicTask, or another that has a name and times


class Segment(NamedTuple):
    """A piece of a job that one kind of processor executes without interruption by the job itself.

    `on` is the kind of processor ("cpu", "gpu", "bus"); None means that nobody executes: the job suspends itself,
    for so many ticks. `locks` are held while the segment executes.
    """

    ticks: int
    preemptive: bool = True
    on: str | None = CPU
    locks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PeriodicTask:
    """A task that releases a job every `period` ticks; a sporadic task releases them at least so far apart.

    execution: C, worst case; with a `body` it is the sum of its segments and need not be given.
    period: T. deadline: D, relative to the arrival; the period if it is not given.
    offset: arrival of the first job. jitter: J, by how much a release may be later than its arrival.
    preemptive: False if a job, once begun, runs to its end. body: the segments of a job, in order.

    Raises ValueError, with the numbers, for times that no task can have: an execution below 1, a period or deadline
    below 1, a negative offset or jitter, a deadline below the execution time.
    """

    name: str
    execution: int = 0
    period: int = 0
    deadline: int = 0
    offset: int = 0
    jitter: int = 0
    preemptive: bool = True
    body: tuple[Segment, ...] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__  # the record is frozen from here on
        if self.body:
            total = sum(segment.ticks for segment in self.body if segment.on is not None)
            if self.execution not in (0, total):
                raise ValueError(f"{self.name}: execution {self.execution}, but its segments take {total} ticks")
            put(self, "execution", total)
            put(self, "preemptive", all(segment.preemptive for segment in self.body))
        put(self, "deadline", self.deadline or self.period)
        times = self.execution, self.period, self.deadline, self.offset, self.jitter
        if any(time != int(time) for time in times):
            raise ValueError(f"{self.name}: times are whole ticks, got {times}: choose a smaller tick")
        for field, value, least in (("execution", self.execution, 1), ("period", self.period, 1),
                                    ("deadline", self.deadline, 1), ("offset", self.offset, 0),
                                    ("jitter", self.jitter, 0)):  # fmt: skip
            if value < least:
                raise ValueError(f"{self.name}: {field} is {value}, and must be at least {least}")
        if any(segment.ticks < 1 for segment in self.body):
            raise ValueError(f"{self.name}: each segment takes at least 1 tick, got {self.body}")
        if self.deadline < self.longest:
            raise ValueError(
                f"{self.name}: not schedulable, because its deadline of {self.deadline} is below the {self.longest} "
                "ticks that a job takes alone"
            )

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The body; a task without one has a single segment on the CPU."""
        return self.body or (Segment(self.execution, self.preemptive),)

    @property
    def suspension(self) -> int:
        """S: for how long a job suspends itself, in all."""
        return sum(segment.ticks for segment in self.body if segment.on is None)

    @property
    def longest(self) -> int:
        """Ticks from release to completion of a job that nobody disturbs: C + S."""
        return self.execution + self.suspension

    @property
    def utilisation(self) -> Fraction:
        """C / T, exactly."""
        return Fraction(self.execution, self.period)

    @property
    def density(self) -> Fraction:
        """C / min(D, T), exactly."""
        return Fraction(self.execution, min(self.deadline, self.period))

    @property
    def parts(self) -> tuple[tuple[tuple[Segment, ...], tuple[int, ...]], ...]:
        """What a job consists of, for the simulation: (segments, places of the parts that wait for it), here one
        part.
        """
        return ((self.segments, ()),)

    def on(self, kind: str) -> PeriodicTask:
        """The same task with all that the CPU executed on another kind of processor: partitioned scheduling."""
        body = (s._replace(on=kind) if s.on == CPU else s for s in self.segments)
        return replace(self, body=tuple(body))


class Schedulability(NamedTuple):
    """What a test says: schedulable, not schedulable, or None where a sufficient test does not tell; and why.

    It is true only where the test proves that no deadline is missed.
    """

    schedulable: bool | None
    because: str
    responses: tuple[int | None, ...] = ()  # R of each task; None where there is no bound

    def __bool__(self) -> bool:
        return self.schedulable is True


def utilisation(tasks: Sequence[PeriodicTask]) -> Fraction:
    """U, the sum of C / T: the share of one processor that the tasks need."""
    return sum((task.utilisation for task in tasks), Fraction(0))


def overload(tasks: Sequence[PeriodicTask]) -> int:
    """Whether U is below (-1), at (0) or above (1) one processor; exact, and quick where it is not close."""
    about = math.fsum(task.execution / task.period for task in tasks)
    if abs(about - 1) > 1e-9:
        return 1 if about > 1 else -1
    exact = utilisation(tasks)
    return (exact > 1) - (exact < 1)


def hyperperiod(tasks: Sequence[PeriodicTask]) -> int:
    """H, the least common multiple of the periods: what tasks without jitter do repeats after it."""
    return math.lcm(*(task.period for task in tasks))


def checked(tasks: Sequence[AnyTask]) -> list[AnyTask]:
    """Return the tasks as a list. Raises ValueError if there is none, or if two have one name."""
    tasks = list(tasks)
    names = [task.name for task in tasks]
    if not tasks:
        raise ValueError("a set of tasks needs at least one")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"each task needs a name of its own, and several are called {', '.join(twice)}")
    return tasks


def on_time(tasks: Sequence[PeriodicTask], responses: Sequence[int | None], test: str) -> Schedulability:
    """Compare response times with deadlines: what an exact test concludes from its R."""
    for task, response in zip(tasks, responses):
        if response is None:
            return Schedulability(False, f"{task.name} has no bound on its response time ({test})", tuple(responses))
        if response > task.deadline:
            told = f"{task.name} responds after {response} ticks, and its deadline is {task.deadline} ({test})"
            return Schedulability(False, told, tuple(responses))
    return Schedulability(True, f"every response time is within its deadline ({test})", tuple(responses))
