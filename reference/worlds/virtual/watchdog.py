"""A watchdog for launches on the virtual cluster: their time-out holds even while C code keeps the interpreter.

`7**20_000_000` or a catastrophic regular expression runs for minutes or for ever without letting any other thread of
Python run, so nobody in this process could time the launch out, or react to Ctrl-C. Hence a small process beside it,
the sentry (sentry.py), which starts with the first launch and sleeps. The two share a page of memory, the board:

    this process   writes until when a launch may take, and a heartbeat, as long as its waiting thread gets to run
    the sentry     wakes up at that time. If the heart has stopped, it asks every rank's thread for its stack by a
                   signal (faulthandler answers it without the interpreter), prints the report and ends this process

A launch costs a few writes into memory. The sentry needs SIGURG, which does nothing by default and which a program
hardly uses; if the program has a handler for it, the report has no lines. A process that was forked has no sentry.
"""

from __future__ import annotations

import atexit
import faulthandler
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from ..processes import environment
from ..sentry import BEAT, BOARD_BYTES, DEADLINE, HEADER, LAUNCH, LOOK, PATIENCE, RANKS, TGKILL, TIMEOUT

PATIENCE_SECONDS = 5.0  # without a heartbeat, after the time-out, before the process is ended
BEAT_SECONDS = 0.2


class Guard:
    """What a launch tells the sentry; without a sentry, nobody listens."""

    def __init__(self, times: memoryview[Any], numbers: memoryview[Any]):
        self.times, self.numbers = times, numbers

    def seat(self, rank: int, thread: threading.Thread) -> None:
        """Note in which thread a rank lives: the system's number, and Python's."""
        at = HEADER + 2 * rank
        self.numbers[at], self.numbers[at + 1] = thread.native_id, thread.ident
        self.beat()

    def beat(self) -> None:
        """Show that the interpreter can be had."""
        self.times[BEAT] = monotonic()

    def wait(self, event: threading.Event, timeout: float) -> bool:
        """Wait for the event, with a beating heart; False if it has not come in time."""
        deadline = monotonic() + timeout
        while not event.wait(max(0.0, min(BEAT_SECONDS, deadline - monotonic()))):
            self.beat()
            if monotonic() >= deadline:
                return False
        return True


class Watchdog:
    """This process's end of the board, and the sentry, once there is one."""

    def __init__(self):
        self.board = memoryview(bytearray(BOARD_BYTES))  # nobody looks at this one
        self.sentry: subprocess.Popen | None = None
        self.bell = -1  # what wakes the sentry, and by its closing tells it that this process is gone
        self.useless = False

    @contextmanager
    def guard(self, timeout: float, ranks: int) -> Iterator[Guard]:
        """Watch over one launch. A launch inside a launch ends no later than the outer one, which then is restored."""
        if self.sentry is None and not self.useless:
            self._start()
        board, times, numbers = self.board, self.board.cast("d"), self.board.cast("Q")
        outer = bytes(board[: 8 * (HEADER + 2 * numbers[RANKS])]) if numbers[LAUNCH] % 2 else b""
        deadline = min(monotonic() + timeout, times[DEADLINE] if outer else inf)
        times[DEADLINE], times[BEAT], times[TIMEOUT], times[PATIENCE] = deadline, monotonic(), timeout, PATIENCE_SECONDS
        numbers[RANKS], numbers[LAUNCH] = ranks, numbers[LAUNCH] + (2 if outer else 1)  # odd: it is going on
        self._wake_by(deadline, times)
        try:
            yield Guard(times, numbers)
        finally:
            number = numbers[LAUNCH] + (2 if outer else 1)
            board[: len(outer)] = outer
            numbers[LAUNCH], times[BEAT] = number, monotonic()

    def _wake_by(self, deadline: float, times: memoryview[Any]) -> None:
        """See to it that the sentry looks when the time is up. Mostly it will look earlier anyway."""
        if self.sentry is None or monotonic() < times[LOOK] <= deadline:
            return
        try:
            os.write(self.bell, b"!")
        except OSError:  # somebody has ended it: the next launch starts another
            self.forget()

    def _start(self) -> None:
        """Start the sentry; where that is not allowed, launches go unwatched."""
        try:
            with tempfile.TemporaryFile() as board, tempfile.TemporaryFile() as dump:
                board.truncate(BOARD_BYTES)
                self.board = memoryview(mmap.mmap(board.fileno(), BOARD_BYTES))
                if signal.getsignal(signal.SIGURG) == signal.SIG_DFL:
                    faulthandler.register(signal.SIGURG, os.dup(dump.fileno()), all_threads=not TGKILL)
                self._spawn(board.fileno(), dump.fileno())
        except Exception:
            self.useless = True

    def _spawn(self, board: int, dump: int) -> None:
        ear, self.bell = os.pipe()
        program = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "sentry.py")]
        files = [ear, board, dump, _stderr()]
        try:
            self.sentry = subprocess.Popen(
                [*program, *map(str, files), str(TGKILL)],
                env=environment(),
                pass_fds=files,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        finally:
            os.close(ear)

    def forget(self) -> None:
        """Have no sentry any more."""
        if self.bell >= 0:
            os.close(self.bell)
        self.board, self.sentry, self.bell = memoryview(bytearray(BOARD_BYTES)), None, -1

    def close(self) -> None:
        """Let the sentry go."""
        sentry = self.sentry
        self.forget()
        if sentry:
            with suppress(subprocess.TimeoutExpired):
                sentry.wait(timeout=2)

    def forked(self) -> None:
        """In a forked child: the sentry is the parent's, and a child is not the place to start another."""
        if self.sentry:
            self.sentry.returncode = 0  # not ours to wait for
        self.forget()
        self.useless = True


def _stderr() -> int:
    """Where a report can be read after this process has ended: a notebook's kernel keeps the real one aside."""
    return getattr(sys.stderr, "_original_stdstream_copy", None) or 2


WATCHDOG = Watchdog()
atexit.register(WATCHDOG.close)
os.register_at_fork(after_in_child=WATCHDOG.forked)
