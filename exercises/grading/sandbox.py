"""A forked child that runs code which may do anything, and sends back what it found.

The child has limits: seconds by the clock, seconds of computing, memory, and how much it prints. It looks at them 20
times a second, in a signal handler that runs even while the main thread waits; when one is passed, it sends every
rank's line and ends. If it can no longer look (stuck inside C code, say), a timer or its keeper (keeper.py) ends it,
and faulthandler has written where it was.

It has no file of ours open but the pipe for its records (records.py), and starting a process in one of Python's ways
is refused. Other ways (ctypes, say) are not; the keeper ends what was started by them. Forking takes milliseconds
because the parent has imported everything already; the parent never starts MPI and never lets torch start threads.
"""

from __future__ import annotations

import _posixsubprocess
import faulthandler
import gc
import os
import pdb
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from reference.perf.pace import cpu_pace, pace

from . import records, stacks
from .keeper import Kept

LOOKS_PER_SECOND = 20
MUTE = 97  # exit status of a child that came to its end, which its last record should have said
KEPT = 1 << 20  # bytes that are read of what a child printed
PROCESSES = "os.fork os.forkpty os.system os.exec os.posix_spawn os.kill os.killpg subprocess.Popen".split()


@dataclass(frozen=True)
class Limits:
    """What one grade may use: seconds by the clock, CPU seconds of all threads, more bytes of memory, bytes printed.

    `each`: the CPU seconds are for each item that is sent, not for all of them together. A child that does not see to
    its own limits is ended `grace` seconds by the clock or `cpu_grace` of computing later.
    """

    wall: float = 20.0
    cpu: float = 3.0
    memory: int = 1 << 30
    output: int = 1 << 20
    each: bool = False
    grace: float = 2.0
    cpu_grace: float = 0.5

    def here(self) -> Limits:
        """These limits for this machine as it is now: seconds by the clock and of computing, each at its own pace."""
        clock = {name: getattr(self, name) * pace() for name in ("wall", "grace")}
        return replace(self, **clock, **{name: getattr(self, name) * cpu_pace() for name in ("cpu", "cpu_grace")})


@dataclass(frozen=True)
class Ending:
    """How a child ended.

    `kind`: "done"; "raised" or "no mpi" (`value`: what describe() made of the exception); "wall", "cpu" or "memory"
    (`value`: the limit and the line of every rank, if known); "signal" or "exit" (`value`: its number); "forged": what
    it sent were no records; "unwatched": its keeper was ended. `lines`: the student's lines that were running, as far
    as faulthandler saw them.
    """

    kind: str
    value: Any = None
    lines: tuple[stacks.Line, ...] = ()


class NewProcess(RuntimeError):
    """The code tried to start or to end a process."""


class NoKeyboard(RuntimeError):
    """The code stopped for a debugger."""


class Printed:
    """What a child prints into a file, piece by piece."""

    def __init__(self, file: Any):
        self.file, self.seen = file, 0

    def next(self, end: int | None = None) -> str:
        """What was printed since the last call, up to byte `end` of all."""
        start, size = self.seen, os.fstat(self.file.fileno()).st_size
        self.seen = size if end is None else min(max(start, end), size)
        return _text(self.file, start, self.seen)


def run(
    work: Callable[[Callable], None], path: str, limits: Limits, describe: Callable[[BaseException], Any], items: int
) -> Iterator[tuple[Any, str]]:
    """Call work(send) in a forked child; yield what it sends (plain data), each with what was printed meanwhile.

    The last is an Ending. path: the file whose lines matter; describe: makes plain data of an exception; items: how
    often work may call send. The child and all that it has started are gone when the iterator is closed.
    """
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as dump:
        out, into = os.pipe()
        keep = into, printed.fileno(), dump.fileno()
        child = _Child(path, limits, *keep)
        kept = Kept(lambda: child.live(work, describe), keep, limits.wall + limits.grace, limits.grace)
        os.close(into)
        output, deadline, ending = Printed(printed), time.monotonic() + limits.wall + limits.grace, None
        try:
            for record in records.receive(out, deadline + 3 * limits.grace, items):
                if record.kind == "item":
                    yield record.value, output.next(record.printed)
                else:
                    ending = told(record, limits)
            if ending is None:  # it could not say, but its keeper can
                kind, value = kept.how(deadline - time.monotonic() + kept.patience)
                ending = Ending(kind, value, tuple(stacks.of_dump(_text(dump, 0, KEPT), path)))
        except records.Forged:
            ending = Ending("forged")
        finally:
            os.close(out)
            kept.end()
        yield ending, output.next()


def as_a_child(printed: int) -> None:
    """No keyboard, and output to a file."""
    for target, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, printed), (2, printed)):
        os.dup2(source, target)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)


def told(record: records.Record, limits: Limits) -> Ending:
    """How a child ended by its own last record."""
    if record.kind not in ("cpu", "wall", "memory"):
        return Ending(record.kind, record.value)
    lines = {rank: tuple(line) for rank, line in record.value}
    return Ending(record.kind, (getattr(limits, record.kind), lines))


def _text(file: Any, start: int, end: int) -> str:
    """Part of a file that the child writes; read without moving the position that both share."""
    return os.pread(file.fileno(), min(end - start, KEPT), start).decode(errors="replace")


class _Child:
    """The life of the child, which never returns."""

    def __init__(self, path: str, limits: Limits, pipe: int, printed: int, dump: int):
        self.path, self.limits, self.pipe, self.printed, self.dump = path, limits, pipe, printed, dump

    def live(self, work, describe) -> None:
        """Prepare, work, say how it ended."""
        try:
            self._prepare()
            work(self._item)
            self._send("done", None)
        except BaseException as error:  # whatever it is, the parent explains it
            self._send("raised", describe(error))
        finally:
            os._exit(MUTE)

    def _item(self, item: Any) -> None:
        """What work calls as `send`."""
        self._send("item", item)
        if self.limits.each:
            self.start_cpu = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, self.limits.cpu + self.limits.cpu_grace)

    def _prepare(self) -> None:
        """Limits, and a look at them every now and then."""
        self.start, self.start_rss = time.monotonic(), _peak_rss()
        self.start_cpu = time.process_time()
        as_a_child(self.printed)
        gc.freeze()  # what the parent has made is not ours to look through, and to copy, again and again
        sys.breakpointhook = pdb.set_trace = _refuse_debugger
        faulthandler.enable(self.dump)
        faulthandler.register(signal.SIGPROF, self.dump, chain=True)
        signal.setitimer(signal.ITIMER_PROF, self.limits.cpu + self.limits.cpu_grace)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, self.limits.output)
        if sys.platform == "linux":  # elsewhere the kernel does not hold this limit, and only _look does
            _limit(resource.RLIMIT_DATA, _data_size() + self.limits.memory)
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, 1 / LOOKS_PER_SECOND, 1 / LOOKS_PER_SECOND)
        _posixsubprocess.fork_exec = _refuse_fork_exec  # no audit event tells of it; multiprocessing calls it
        if tracker := sys.modules.get("multiprocessing.resource_tracker"):
            tracker._resource_tracker._fd = None  # the parent's; it is closed here, which would be raised instead
        sys.addaudithook(_refuse_processes)

    def _look(self, *_) -> None:
        used = {
            "cpu": (time.process_time() - self.start_cpu) / self.limits.cpu,
            "wall": (time.monotonic() - self.start) / self.limits.wall,
            "memory": (_peak_rss() - self.start_rss) / self.limits.memory,
        }
        kind = max(used, key=used.get)
        if used[kind] > 1:
            self._send(kind, list(stacks.of_threads(self.path).items()))
            os._exit(0)

    def _send(self, kind: str, value: Any) -> None:
        """Write one record; a look in the middle of it would mix two."""
        data = records.pack(kind, value, os.fstat(self.printed).st_size)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        records.write(self.pipe, data)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


def _limit(what: int, amount: int) -> None:
    """Lower a limit of the system's; one that it does not know or allow is left."""
    try:
        resource.setrlimit(what, (amount, resource.getrlimit(what)[1]))
    except (OSError, ValueError):
        pass


def _data_size() -> int:
    """Bytes of memory that count for RLIMIT_DATA now (Linux)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))


def _peak_rss() -> int:
    """The most memory this process has used so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)


def _refuse_debugger(*_, **__) -> None:
    raise NoKeyboard("a debugger waits for a keyboard")


def _refuse_fork_exec(*_, **__) -> None:
    raise NewProcess("multiprocessing")


def _refuse_processes(event: str, _) -> None:
    """An audit hook; Python has no way to take one off again."""
    if event in PROCESSES:
        raise NewProcess(event)
