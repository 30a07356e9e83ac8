"""`launch(..., world="mpi")`: run a program on this process's job of real ranks (job.py), which starts at first use."""

from __future__ import annotations

import atexit
import os
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import cloudpickle

from ..run import Run
from .job import MAX_COMMUNICATORS, MIN_RANKS, Job

INSTALLED = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))
COURSE = str(Path(__file__).parents[2])


class Holder:
    """The one job of this process, or none."""

    def __init__(self):
        self.lock, self.job = threading.RLock(), None

    def job_for(self, ranks: int) -> Job:
        """The job, started anew if it has too few ranks, has ended, or has been used up."""
        job = self.job
        if job and not (job.ready() and job.ranks >= ranks and job.communicators < MAX_COMMUNICATORS):
            self.close()
        if self.job is None:
            self.job = Job(max(MIN_RANKS, ranks, job.ranks if job else 0))
        return self.job

    def close(self) -> None:
        """End the job, if there is one."""
        with self.lock:
            job, self.job = self.job, None
            if job:
                job.close()

    def forget(self) -> None:
        """In a forked child: the job is the parent's."""
        job, self.lock, self.job = self.job, threading.RLock(), None
        if job:
            job.disown()


HOLDER = Holder()
atexit.register(HOLDER.close)
os.register_at_fork(after_in_child=HOLDER.forget)


def run_on_job(program: Callable, ranks: int, args: tuple, timeout: float) -> Run:
    """Run program(comm, *args) on that many real ranks and return what came of it.

    `timeout` is in seconds, without the time that the ranks need to start and to import. Raises RankFailed, TimedOut,
    RankDied, and LaunchError if there is no MPI to start ranks with.
    """
    pickled = pickle_program(program, args)
    with HOLDER.lock:
        return HOLDER.job_for(ranks).run(pickled, ranks, timeout)


def close_job() -> None:
    """End the job of real ranks now; the next launch starts a new one, which imports every module anew."""
    HOLDER.close()


def pickle_program(program: Callable, args: tuple) -> bytes:
    """Program and arguments for the journey to a rank.

    Functions travel by the name of their module, which the rank imports. The module that defines the program itself
    travels by value, unless it belongs to the course or is installed: a test or a student's file is then not imported
    on every rank with all that it needs for other things, and what was edited since the job started counts.
    """
    module = sys.modules.get(getattr(program, "__module__", None) or "")
    if module is None or not _travels(module):
        return cloudpickle.dumps((program, args))
    cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps((program, args))
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _travels(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    registered = module.__name__ in cloudpickle.list_registry_pickle_by_value()
    return (
        file is not None
        and module.__name__ != "__main__"
        and not registered
        and not file.startswith((*INSTALLED, COURSE))
    )
