"""A child process with a keeper: a process between it and us, which outlives it and ends whatever it has started.

The child runs a student's code, which may start processes that leave its session and outlive it. On Linux the keeper is
their "subreaper": orphans of any depth become its own children, where it finds and ends them. Elsewhere it ends the
processes of the child's session. The keeper also ends everything if we die: it holds one end of a pipe, the leash, of
which we hold the other.

What this cannot do: keeper, child and we run as the same user, so code that means to can kill the keeper and us, and
what it had started then stays. `how` tells of a keeper that was killed.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

SWEEP = 5.0  # seconds to end what a child has left, which takes a blink unless it is a storm of forks
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

How = tuple[str, int | None]  # ("exit", status), ("signal", number), ("cpu", None), ("wall", None), ("unwatched", None)
UNWATCHED = ("unwatched", None)  # the keeper was ended, and nobody can say


class Kept:
    """Our side of a child and its keeper."""

    def __init__(self, life: Callable[[], Any], keep: Iterable[int], seconds: float | None = None, grace: float = 2.0):
        """Fork a keeper, which forks a child that calls life() and ends.

        keep      the file descriptors that the child needs; all others but 0, 1 and 2 are closed in it
        seconds   after which the keeper ends the child, if it is to
        grace     seconds that the child has then to write where it is
        """
        self.told, tell = os.pipe()
        held, self.leash = os.pipe()
        self.data, self.patience = b"", SWEEP + 2 * grace
        self.pid = fork()
        if self.pid == 0:
            _forever(lambda: _keep(life, keep, held, tell, seconds, grace))
        os.close(tell)
        os.close(held)

    def how(self, patience: float) -> How:
        """How the child ended; UNWATCHED if nobody says within `patience` seconds. Raises OSError if it never began."""
        deadline = time.monotonic() + patience
        while select.select([self.told], [], [], max(0.0, deadline - time.monotonic()))[0]:
            chunk = os.read(self.told, 1 << 10)
            if not chunk:
                break
            self.data += chunk
        told = self.data.split()
        if told[1:] == [b"unborn"]:
            raise OSError("the system starts no more processes")
        return (told[1].decode(), int(told[2]) if len(told) > 2 else None) if len(told) > 1 else UNWATCHED

    def end(self) -> None:
        """End the child, if it still lives, with all that it has started. They are gone when this returns."""
        os.close(self.leash)
        with suppress(OSError):
            if self.how(self.patience) == UNWATCHED and self.data:
                kill(int(self.data.split()[0]))
        kill(self.pid)  # it has ended itself, or does not do what it should
        os.waitpid(self.pid, 0)
        os.close(self.told)


def fork() -> int:
    """os.fork(), and nothing is printed twice."""
    sys.stdout.flush()
    with warnings.catch_warnings():  # Python 3.12 warns if a library has started threads; ours hold no locks
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def kill(pid: int, signum: int = signal.SIGKILL) -> None:
    """Send a signal to a process and to its group, if it leads one."""
    for send in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            send(pid, signum)


def close_all_but(keep: Iterable[int]) -> None:
    """Close every file descriptor above 2 that is not to be kept: nobody may write where others read."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    last = limit if 0 < limit < 1 << 16 else 1 << 16
    borders = [2, *sorted(fd for fd in keep if fd > 2), last]
    for before, after in itertools.pairwise(borders):
        os.closerange(before + 1, after)


def _forever(life: Callable[[], Any]) -> None:
    """The rest of a forked process; it never goes back to the code of its parent."""
    try:
        life()
    finally:
        os._exit(0)


def _keep(life: Callable[[], Any], keep: Iterable[int], held: int, tell: int, seconds: float | None, grace: float):
    """What the keeper does."""
    os.setsid()
    if LIBC is not None:
        LIBC.prctl(SUBREAPER, 1, 0, 0, 0)
    try:
        child = fork()
    except OSError:
        os.write(tell, b"0\nunborn")
        return
    if child == 0:
        close_all_but(keep)
        os.setsid()
        _forever(life)
    close_all_but([held, tell])
    os.write(tell, b"%d\n" % child)
    how = _watch(child, held, seconds, grace)
    _sweep(child)
    os.write(tell, " ".join(str(each) for each in how if each is not None).encode())


def _watch(child: int, held: int, seconds: float | None, grace: float) -> How:
    """Wait until the child ends, time is up, or the leash is let go."""
    bell, ring = os.pipe()
    for end in (bell, ring):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    for signum, patience in ((0, seconds), (signal.SIGABRT, grace), (signal.SIGKILL, grace)):
        kill(child, signum) if signum else None
        deadline = None if patience is None else time.monotonic() + patience
        while (how := _reap(child)) is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = select.select([bell, held], [], [], left)[0]
            if held in ready:
                return "leashed", None
            if not ready:
                break
            os.read(bell, 1 << 10)
        if how is not None:
            return how
    return "wall", None


def _reap(child: int) -> How | None:
    """How a child ended, if it has; orphans that have ended are taken away on the way."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                return _how(ended[1])
    return None


def _how(status: int) -> How:
    if not os.WIFSIGNALED(status):
        return "exit", os.WEXITSTATUS(status)
    by = os.WTERMSIG(status)
    return {signal.SIGPROF: ("cpu", None), signal.SIGABRT: ("wall", None)}.get(by, ("signal", by))


def _sweep(child: int) -> None:
    """End what is left: the child, its group, and on Linux every process that descends from it."""
    deadline = time.monotonic() + SWEEP
    kill(child)
    with suppress(ChildProcessError):  # nobody is left
        while time.monotonic() < deadline:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                for pid in _children():
                    kill(pid)
                time.sleep(0.001)


def _children() -> list[int]:
    """The children of this process, which has one thread. Empty where there is no way to ask."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return list(map(int, file.read().split()))
    except OSError:  # not every kernel keeps this list
        import psutil

        return [process.pid for process in psutil.Process().children()]
