"""One virtual rank: its thread, its clock, and what it is doing."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

from .completion import Waiter


class Turns:
    """Numbers what one poster, whose clock never goes back, posts at one time: 0, 1, ..."""

    def __init__(self):
        self.time, self.number = -1.0, 0

    def __call__(self, time: float) -> int:
        self.number = self.number + 1 if time == self.time else 0
        self.time = time
        return self.number


class Rank(Waiter):
    """One virtual rank: its clock (seconds), its thread, and what it is doing.

    `state` is running, waiting, finished or failed. `call`, `group` and `where` tell the MPI call that it is in, or
    made last. `polls` counts polls in vain, since `asking_since`; `asked_at` is its clock at the last one, `looked`
    whether it has read its clock since, `loop` where it polls and knows that nothing can come, for `turns` times.
    """

    def __init__(self, index: int, slow: float):
        self.index, self.slow = index, slow
        self.clock, self.state = 0.0, "running"
        self.call: Any = None
        self.group: Any = None
        self.where: tuple[str, int] | None = None
        self.awaited: Any = ()  # what it is waiting for
        self.missing, self.latest = 0, 0.0
        self.requests: set = set()  # those that the program has not seen complete
        self.gate = threading.Lock()  # closed while another rank runs
        self.gate.acquire()
        self.thread: threading.Thread | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.said = ""  # the error as text
        self.bytes_sent = self.messages = self.polls = self.turns = 0
        self.asked_at = self.asking_since = -1.0
        self.looked, self.loop = False, None
        self.computation = -1  # where the timeline has its last computation, if that has a label
        self.turn = Turns()
        self.calls: Counter = Counter()

    def count(self, nbytes: int) -> None:
        """Count a message that leaves the rank."""
        self.bytes_sent += nbytes
        self.messages += 1

    def resume(self, time: float) -> Rank:
        """The event: run on, at `time` or later."""
        self.clock = max(self.clock, time)
        return self


def stay_on_one_core() -> None:
    """Threads of which one runs at a time hand over twice as fast when they need not wake another core.

    This holds for the rank's own thread, and for what it starts: a subprocess of a rank runs on one core, too.
    As batch work the thread that is let go does not push aside the one that lets it go, which still has the interpreter
    then: it would go to sleep again at once. 2.3 us of CPU time a turn became of 6.
    """
    if hasattr(os, "sched_setaffinity"):  # Linux
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.sched_param(0))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
