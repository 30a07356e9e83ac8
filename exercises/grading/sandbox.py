"""A forked child that runs code which may do anything, and sends back what it found.

The child has limits: seconds by the clock, seconds of computing, memory, and how much it prints. It looks at them 20
times a second, in a signal handler that runs even while the main thread waits; when one is passed, it sends every
rank's line and ends. If it can no longer look (stuck inside C code, say), a timer or the parent ends it, and
faulthandler has written where it was. It may not start processes. Forking takes milliseconds because the
parent has imported everything already; the parent never starts MPI and never lets torch start threads.
"""

from __future__ import annotations

import faulthandler
import marshal
import os
import pdb
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import stacks

LOOKS_PER_SECOND = 20
GRACE = 2.0  # seconds between the child's own limit by the clock and the parent's
CPU_GRACE = 0.5  # seconds of computing between the child's own limit and the timer that ends it
PROCESSES = "os.fork os.forkpty os.system os.exec os.posix_spawn os.kill os.killpg subprocess.Popen".split()


@dataclass(frozen=True)
class Limits:
    """What one grade may use: seconds by the clock, CPU seconds of all threads, more bytes of memory, bytes printed.

    `each`: the CPU seconds are for each item that is sent, not for all of them together.
    """

    wall: float = 20.0
    cpu: float = 3.0
    memory: int = 1 << 30
    output: int = 1 << 20
    each: bool = False


@dataclass(frozen=True)
class Ending:
    """How a child ended.

    `kind`: "done"; "raised" (`value`: what describe() made of the exception); "wall", "cpu" or "memory" (`value`: the
    limit and the line of every rank, if known); "signal" or "exit" (`value`: its number). `lines`: the student's lines
    that were running, as far as faulthandler saw them.
    """

    kind: str
    value: Any = None
    lines: tuple[stacks.Line, ...] = ()


class NewProcess(RuntimeError):
    """The code tried to start or to end a process."""


class NoKeyboard(RuntimeError):
    """The code stopped for a debugger."""


def run(
    work: Callable[[Callable], None], path: str, limits: Limits, describe: Callable[[BaseException], Any]
) -> Iterator[tuple[Any, str]]:
    """Call work(send) in a forked child; yield what it sends (plain data), each with what was printed meanwhile.

    The last is an Ending. path: the file whose lines matter; describe: makes plain data of an exception. The child is
    gone when the iterator is closed.
    """
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as dump:
        out, into = os.pipe()
        pid = _fork()
        if pid == 0:
            os.close(out)
            _Child(path, limits, into, printed.fileno(), dump.fileno()).live(work, describe)
        os.close(into)
        kind, value, seen = "", None, 0
        try:
            for kind, value, end in _receive(out, time.monotonic() + limits.wall + GRACE):
                if kind == "item":
                    yield value, _text(printed, seen, end)
                    seen = end
            if kind in ("", "item"):
                kind, value = _reap(pid)
                pid = 0
        finally:
            os.close(out)
            if pid:
                _end(pid)
        lines = () if kind in ("done", "raised") else tuple(stacks.of_dump(_text(dump), path))
        yield Ending(kind, value, lines), _text(printed, seen)


def _fork() -> int:
    sys.stdout.flush()
    with warnings.catch_warnings():  # Python 3.12 warns if a library has started threads; ours hold no locks
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _receive(pipe: int, deadline: float) -> Iterator[tuple[str, Any, int]]:
    """Yield the (kind, value, bytes printed so far) that come through a pipe until it is closed, or the deadline."""
    data = bytearray()
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            return
        data += chunk
        while len(data) >= 8 and len(data) >= (end := 8 + int.from_bytes(data[:8])):
            yield marshal.loads(data[8:end])
            del data[:end]


def _reap(pid: int) -> tuple[str, int]:
    """How a child ended that did not say so itself; one that still hangs gets SIGABRT, so that its stacks are kept."""
    patience = time.monotonic() + GRACE
    for signum in (0, signal.SIGABRT, signal.SIGKILL):
        os.kill(pid, signum)
        while time.monotonic() < patience:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done and os.WIFSIGNALED(status):
                killer = os.WTERMSIG(status)
                return {signal.SIGPROF: ("cpu", None), signal.SIGABRT: ("wall", None)}.get(killer, ("signal", killer))
            if done:
                return "exit", os.WEXITSTATUS(status)
            time.sleep(0.01)
        patience = time.monotonic() + GRACE
    return "wall", None


def _end(pid: int) -> None:
    """End a child and what it may have started."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os.waitpid(pid, 0)


def _text(file, start: int = 0, end: int | None = None) -> str:
    """Part of a file that the child writes; read without moving the position that both share."""
    size = (os.fstat(file.fileno()).st_size if end is None else end) - start
    return os.pread(file.fileno(), size, start).decode(errors="replace")


class _Child:
    """The life of the child, which never returns."""

    def __init__(self, path: str, limits: Limits, pipe: int, printed: int, dump: int):
        self.path, self.limits, self.pipe, self.printed, self.dump = path, limits, pipe, printed, dump
        self.start, self.start_rss = time.monotonic(), _peak_rss()
        self.start_cpu = time.process_time()

    def live(self, work, describe) -> None:
        try:
            self._prepare()
            work(self._item)
            self._send("done", None)
        except BaseException as error:  # whatever it is, the parent explains it
            self._send("raised", describe(error))
        finally:
            os._exit(0)

    def _item(self, item: Any) -> None:
        """What work calls as `send`."""
        self._send("item", item)
        if self.limits.each:
            self.start_cpu = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, self.limits.cpu + CPU_GRACE)

    def _prepare(self) -> None:
        """Own session, no keyboard, output to a file, limits, and a look at them every now and then."""
        os.setsid()
        for target, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, self.printed), (2, self.printed)):
            os.dup2(source, target)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
        sys.breakpointhook = pdb.set_trace = _refuse_debugger
        faulthandler.enable(self.dump)
        faulthandler.register(signal.SIGPROF, self.dump, chain=True)
        signal.setitimer(signal.ITIMER_PROF, self.limits.cpu + CPU_GRACE)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, self.limits.output)
        if sys.platform == "linux":  # elsewhere the kernel does not hold this limit, and only _look does
            _limit(resource.RLIMIT_DATA, _data_size() + self.limits.memory)
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, 1 / LOOKS_PER_SECOND, 1 / LOOKS_PER_SECOND)
        sys.addaudithook(_refuse_processes)

    def _look(self, *_) -> None:
        used = {
            "cpu": (time.process_time() - self.start_cpu) / self.limits.cpu,
            "wall": (time.monotonic() - self.start) / self.limits.wall,
            "memory": (_peak_rss() - self.start_rss) / self.limits.memory,
        }
        kind = max(used, key=used.get)
        if used[kind] > 1:
            self._send(kind, (getattr(self.limits, kind), stacks.of_threads(self.path)))
            os._exit(0)

    def _send(self, kind: str, value: Any) -> None:
        """Write one record; a look in the middle of it would mix two."""
        data = marshal.dumps((kind, value, os.fstat(self.printed).st_size))
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        rest = memoryview(len(data).to_bytes(8) + data)
        while rest:
            rest = rest[os.write(self.pipe, rest) :]
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


def _refuse_processes(event: str, _) -> None:
    """An audit hook; Python has no way to take one off again."""
    if event in PROCESSES:
        raise NewProcess(event)
