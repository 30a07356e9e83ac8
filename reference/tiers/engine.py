"""Engines: work that goes on beside a rank, such as a copy to another memory, and that the rank waits for later.

Idea      A GPU copies to and from the host with engines of their own, a CPU takes an optimizer's step, a drive writes:
          the rank hands the job over and goes on computing. An engine does its jobs one after the other. A job starts
          when the engine is free and when the jobs that it comes after have ended:

              start = max(now, engine free, ends of the jobs before it)          end = start + its seconds

          `job.wait()` lets the rank's clock advance to `end`, which costs nothing if that has passed.
Before    rank    |cccc|wwwwwwww|cccc|          w: the rank waits for a copy
After     rank    |cccc|cccc|www|               the copy takes as long, and half of it is hidden
          engine       |kkkkkkkk|
Exact     On the virtual cluster a job's data moves when its time has come and the rank looks (`wait`, `poll`), never
          before: a program that reads the target too early, or changes the source too early, gets wrong data in every
          run. On real ranks a thread does the work, so that such a mistake shows only now and then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .. import mpi


class Record(NamedTuple):
    """One job that has ended: when the rank asked for it, when the engine began and ended; bytes that moved."""

    engine: str
    label: str
    posted: float
    start: float
    end: float
    nbytes: int


class Job:
    """Work that an engine has been given. `wait` for it before its result is used, or its inputs are changed."""

    def __init__(self, engine: Engine, label: str, action: Callable[[], object], after: Sequence[Job], nbytes: int):
        self.engine, self.label, self.nbytes, self.after = engine, label, nbytes, tuple(after)
        self.posted = self.start = self.end = mpi.wtime(engine.comm)
        self.done = False
        self.error: Exception | None = None
        self._action: Callable[[], object] | None = action
        self.future: Future | None = None

    def wait(self) -> float:
        """Wait until the job has been done; the seconds that this took. Raises what the job raised, each time."""
        before = mpi.wtime(self.engine.comm)
        if self.future is not None:
            self.future.result()
        elif not self.done:
            if self.end > before:
                mpi.sleep(self.engine.comm, self.end - before)
            self.engine.catch_up(self)
        waited = mpi.wtime(self.engine.comm) - before
        self.engine.waited += waited
        if self.error is not None:
            raise self.error
        return waited

    def run(self) -> None:
        """Do the work now. It is not the rank's: a meter of the rank's operations does not see it."""
        for job in self.after:
            job.settle()
        try:
            failed = next((job.error for job in self.after if job.error is not None), None)
            if failed is not None:
                raise failed
            if self.engine.real:
                self.start = mpi.wtime(self.engine.comm)
            assert self._action is not None
            with torch.no_grad(), _disable_current_modes():
                self._action()
        except Exception as error:
            self.error = error
        if self.engine.real:
            self.end = mpi.wtime(self.engine.comm)
        self._action, self.after, self.done = None, (), True  # what it held can be freed
        self.engine.records.append(Record(self.engine.name, self.label, self.posted, self.start, self.end, self.nbytes))

    def settle(self) -> None:
        """Have the job done, without waiting on the rank's clock: for a job that comes after it."""
        if self.future is not None:
            self.future.result()
        elif not self.done:
            self.engine.catch_up(self)


class Engine:
    """Something that works beside this rank, one job at a time, in the order in which jobs are submitted.

    comm     whose clock runs meanwhile
    name     for timelines

    engine.records    the jobs that have ended, as Records
    engine.waited     seconds that the rank has waited for its jobs
    """

    def __init__(self, comm: Any, name: str):
        self.comm, self.name, self.real = comm, name, mpi.network(comm) is None
        self.records: list[Record] = []
        self.waited = 0.0
        self.free = 0.0  # when the last job ends, on the virtual clock
        self._queue: deque[Job] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name) if self.real else None

    def submit(
        self, label: str, seconds: float, action: Callable[[], object], after: Sequence[Job] = (), nbytes: int = 0
    ) -> Job:
        """Hand a job over: action() does it, and it takes `seconds` on the virtual clock; returns at once.

        after: jobs, of any engine, that must have ended before. If one of them fails, this one fails with its error.
        """
        self.poll()
        job = Job(self, label, action, after, nbytes)
        if self._thread is not None:
            job.future = self._thread.submit(job.run)
        else:
            job.start = max([job.posted, self.free, *(earlier.end for earlier in job.after)])
            job.end = self.free = job.start + seconds
        self._queue.append(job)
        return job

    def poll(self) -> None:
        """Do what has ended by now on the virtual clock, so that its memory can be freed."""
        now = mpi.wtime(self.comm)
        while self._queue and (self._queue[0].done or (not self.real and self._queue[0].end <= now)):
            self.catch_up(self._queue[0])

    def catch_up(self, job: Job) -> None:
        """Do the jobs up to this one."""
        while not job.done:
            first = self._queue.popleft()
            if not first.done:
                first.run()
        while self._queue and self._queue[0].done:
            self._queue.popleft()

    def drain(self) -> float:
        """Wait for all jobs; the seconds that this took. Raises the first error of those that were under way."""
        jobs, waited, errors = list(self._queue), 0.0, []
        for job in jobs:
            try:
                waited += job.wait()
            except Exception as error:
                errors.append(error)
        self._queue.clear()
        if errors:
            raise errors[0]
        return waited

    @property
    def nbytes(self) -> int:
        """Bytes that the jobs that have ended have moved."""
        return sum(record.nbytes for record in self.records)
