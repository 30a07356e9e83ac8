"""One virtual rank: its thread, its clock, and what it is doing."""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
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

    `state` is running, waiting, finished, failed, killed or hung. `call` is the MPI call that it is in, or made last;
    `calls` tells how often it has made which. `polls` counts polls in vain, since `asking_since`; `asked_at` is its
    clock at the last one, `looked` whether it has read its clock since, `loop` where it polls and knows that nothing
    can come, for `turns` times.
    """

    failed: Sequence[int] = ()  # those whom it knows to have failed, in the order of the news

    def __init__(self, index: int, slow: float):
        self.index, self.slow = index, slow
        self.clock, self.state = 0.0, "running"
        self.call: Any = None
        self.awaited: Any = ()  # what it is waiting for
        self.missing, self.latest = 0, 0.0
        self.requests: dict = {}  # those that the program has not seen complete, in the order of their beginning
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
        self.calls: defaultdict[str, int] = defaultdict(int)

    def count(self, nbytes: int) -> None:
        """Count a message that leaves the rank."""
        self.bytes_sent += nbytes
        self.messages += 1

    def resume(self, time: float) -> Rank:
        """The event: run on, at `time` or later."""
        self.clock = max(self.clock, time)
        return self


@contextmanager
def on_one_core() -> Iterator[None]:
    """Let the threads that this one starts meanwhile share a core.

    Threads of which one runs at a time hand over twice as fast when they need not wake another core. This holds for
    what a rank starts, too: a subprocess of a rank runs on one core. Here they get it from who starts them, because to
    move from core to core takes as long as to start.
    """
    if not hasattr(os, "sched_setaffinity"):  # Linux has it
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[os.getpid() % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def be_batch_work() -> None:
    """Do not push aside the thread that lets this one go.

    It still has the interpreter then: this one would go to sleep again at once. 2.3 us of CPU time a turn became of 6.
    """
    if hasattr(os, "sched_setscheduler"):  # Linux
        with suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.sched_param(0))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
