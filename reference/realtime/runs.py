"""Runs: what a simulation did. Jobs with their times, slices with their processors, and the questions one asks of
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class SimulatedJob:
    """A job of a run. Times are absolute; `start` and `finish` are None if the run ended before."""

    __slots__ = ("arrival", "deadline", "dropped", "finish", "number", "parts", "release", "start", "task")

    def __init__(self, task: Any, number: int, arrival: int, release: int):
        self.task, self.number, self.arrival, self.release = task, number, arrival, release
        self.deadline = arrival + task.deadline
        self.start: int | None = None
        self.finish: int | None = None
        self.dropped = False
        self.parts = 0  # subjobs that are not done

    @property
    def response(self) -> int | None:
        """R: from the arrival to the end; None if it has not ended."""
        return None if self.finish is None else self.finish - self.arrival

    def __repr__(self) -> str:
        return f"{self.task.name}[{self.number}] {self.arrival} > {self.start} > {self.finish} (by {self.deadline})"


class ExecutionSlice(NamedTuple):
    """What one processor did without a change: from start to end, for a job of a task, with these locks."""

    processor: str
    task: str
    number: int
    start: int
    end: int
    locks: tuple[str, ...] = ()


@dataclass
class SimulatedRun:
    """Jobs in the order of their release, slices in the order of their end, and what was counted."""

    jobs: list[SimulatedJob] = field(default_factory=list)
    slices: list[ExecutionSlice] = field(default_factory=list)
    end: int = 0
    events: int = 0
    preemptions: int = 0
    migrations: int = 0
    deadlocked: tuple[str, ...] = ()

    def of(self, task: str) -> list[SimulatedJob]:
        """The jobs of a task."""
        return [job for job in self.jobs if job.task.name == task]

    def response(self, task: str) -> int:
        """The longest response time of a task's jobs that are done. Raises ValueError if none is."""
        return max(job.response for job in self.of(task) if job.response is not None)

    def missed(self) -> list[SimulatedJob]:
        """Jobs that ended after their deadline, or had not ended by then; those that were dropped are not among
        them.
        """
        return [
            job
            for job in self.jobs
            if not job.dropped and (job.deadline < self.end if job.finish is None else job.finish > job.deadline)
        ]

    def idle(self, processor: str) -> int:
        """Ticks in which a processor did nothing."""
        return self.end - sum(piece.end - piece.start for piece in self.slices if piece.processor == processor)


def longest(responses: Iterable[int | None]) -> int:
    """The longest of the responses that are known, 0 if there is none."""
    return max((response for response in responses if response is not None), default=0)
