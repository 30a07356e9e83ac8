"""The sentry: a small process that ends its parent if a launch there is over time and C code keeps the interpreter.

`python -I -S sentry.py EAR BOARD DUMP STDERR TGKILL`: numbers of inherited files, and of a system call (watchdog.py).
It starts in ten milliseconds, because it imports nothing of the package; its report is made by a second Python
(last_words.py).

Ctrl-C in a terminal, or "interrupt" in a notebook, reaches the sentry, too. If the interpreter does not react to it,
the sentry says how to end the process: by another one.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import sys
from contextlib import suppress
from time import monotonic, sleep

MOST_RANKS = 10_000  # a launch has room for
DEADLINE, LOOK, BEAT, TIMEOUT, PATIENCE = range(5)  # doubles on the board: the times of monotonic(), and seconds
LAUNCH, RANKS, HEADER = 5, 6, 8  # integers: a launch's number, how many ranks; then two numbers for each rank's thread
BOARD_BYTES = 8 * (HEADER + 2 * MOST_RANKS)
TICK = 0.1
IDLE_SECONDS = 60.0
ABORT_SECONDS = 2.0  # for the parent to end
CTRL_C_SECONDS = 1.0  # for the interpreter to react to Ctrl-C
DUMP_SECONDS, DUMP_LOOKS = 2.0, 400  # for a thread's stack
TGKILL = {"x86_64": 234, "aarch64": 131}.get(os.uname().machine, 0) if sys.platform == "linux" else 0


class Sentry:
    """Watches the launches of the parent on the board."""

    def __init__(self, ear: int, board: int, dump: int, stderr: int, tgkill: int):
        self.tgkill = tgkill  # 0: threads cannot be asked one by one
        self.ear, self.dump, self.stderr, self.parent = ear, dump, stderr, os.getppid()
        memory = memoryview(mmap.mmap(board, BOARD_BYTES))
        self.times, self.numbers = memory.cast("d"), memory.cast("Q")
        self.read = 0  # bytes of the dump
        self.interrupted = [0, 0]  # in which launch Ctrl-C came, and how often

    def watch(self) -> None:
        """Sleep until there is something to look at; return when the parent is gone."""
        wakened, waker = os.pipe()
        for end in (wakened, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGINT, lambda *_: None)
        while True:
            ready = select.select([self.ear, wakened], [], [], self._until_look())[0]
            if self.ear in ready and not os.read(self.ear, 4096):
                return
            if wakened in ready and os.read(wakened, 4096):
                self._ctrl_c()
            if self.launch() and monotonic() >= self.times[DEADLINE] and self._stuck(self.times[PATIENCE]):
                self._end(f"the launch took more than {self.times[TIMEOUT]:g} s of real time")

    def launch(self) -> int:
        """The number of the launch that is going on, or 0."""
        return self.numbers[LAUNCH] if self.numbers[LAUNCH] % 2 else 0

    def _until_look(self) -> float:
        """Seconds until the next look, which the parent may read on the board."""
        self.times[LOOK] = monotonic() + IDLE_SECONDS  # first, so that a launch which begins now does not rely on it
        if self.launch():
            self.times[LOOK] = min(self.times[LOOK], max(self.times[DEADLINE], monotonic() + TICK))
        return max(0.0, self.times[LOOK] - monotonic())

    def _stuck(self, seconds: float) -> bool:
        """Whether the heart does not beat for so long, by the sentry's own ticks: a machine may have been asleep."""
        launch, beat = self.launch(), self.times[BEAT]
        for _ in range(max(1, round(seconds / TICK))):
            sleep(TICK)
            if not launch or self.launch() != launch or self.times[BEAT] != beat or _stopped(self.parent):
                return False
        return True

    def _ctrl_c(self) -> None:
        launch = self.launch()
        self.interrupted = [launch, self.interrupted[1] + 1 if self.interrupted[0] == launch else 1]
        if not self._stuck(CTRL_C_SECONDS):
            self.interrupted = [0, 0]
        elif self.interrupted[1] > 1:
            self._end("interrupted")
        else:
            self._say(
                "\nCtrl-C has no effect yet: C code holds the Python interpreter. Another Ctrl-C ends this process "
                f"({self.parent}); otherwise the time-out of the launch will.\n"
            )

    def _end(self, why: str) -> None:
        """Print the report and end the parent, unless it lives again meanwhile."""
        launch, beat = self.launch(), self.times[BEAT]
        report = self._report(why)
        if self.launch() == launch and self.times[BEAT] == beat:
            self._say(report)
            with suppress(OSError):  # it may be gone already
                os.kill(self.parent, signal.SIGABRT)  # lets faulthandler say its word, too, where it is enabled
                if not select.select([self.ear], [], [], ABORT_SECONDS)[0]:  # its end of the pipe has not closed
                    os.kill(self.parent, signal.SIGKILL)

    def _say(self, text: str) -> None:
        rest = text.encode(errors="backslashreplace")
        while rest:
            rest = rest[os.write(self.stderr, rest) :]

    # What the ranks are doing ------------------------------------------------------------------------------------

    def _report(self, why: str) -> str:
        """The report, made by a Python that has the whole package; the bare stacks if that one fails."""
        import json
        import subprocess  # when it matters; the sentry should start quickly

        stacks, ended = self._stacks(self.numbers[RANKS])
        order = {"why": why, "pid": self.parent, "ranks": self.numbers[RANKS], "stacks": stacks, "ended": ended}
        command = [sys.executable, "-m", "reference.worlds.virtual.last_words"]
        try:
            said = subprocess.run(command, input=json.dumps(order), capture_output=True, text=True, timeout=60)
            if said.returncode == 0:
                return said.stdout
        except (OSError, subprocess.SubprocessError):
            pass
        bare = "".join(f"--- rank {rank} ---\n{stack}" for rank, stack in stacks.items())
        return f"{why}; C code keeps the Python interpreter, so the whole process ({self.parent}) is ended\n{bare}"

    def _stacks(self, ranks: int) -> tuple[dict[int, str], list[int]]:
        """What faulthandler says of each rank's thread, and the ranks whose threads have ended."""
        threads = [tuple(self.numbers[HEADER + 2 * rank :][:2]) for rank in range(ranks)]
        if not self.tgkill:
            return self._all_at_once([python for _, python in threads])
        stacks, ended = {}, []
        for rank, (native, _) in enumerate(threads):
            if not signal_thread(self.tgkill, self.parent, native, signal.SIGURG):
                ended.append(rank)
            elif stack := self._answer(b" in _bootstrap\n"):
                stacks[rank] = stack
            else:
                break  # the signal is somebody else's
        return stacks, ended

    def _all_at_once(self, threads: list[int]) -> tuple[dict[int, str], list[int]]:
        """The stacks of all threads (at most 100, the newest), by one signal: where no single thread can be asked."""
        os.kill(self.parent, signal.SIGURG)
        blocks = self._answer(None).split("hread 0x")[1:]
        found = {int(block.split()[0], 16): block for block in blocks}
        stacks = {rank: found[thread] for rank, thread in enumerate(threads) if thread in found}
        return stacks, [rank for rank in range(len(threads)) if rank not in stacks and 0 < len(blocks) < 100]

    def _answer(self, last: bytes = b"") -> str:
        """What is new in the dump: until it ends with the line `last` or, without one, until no more comes."""
        said = b""
        for _ in range(DUMP_LOOKS):
            sleep(DUMP_SECONDS / DUMP_LOOKS)
            before, said = said, os.pread(self.dump, 1 << 20, self.read)
            if said and (said.endswith((last, b"  ...\n")) if last else said == before):
                break
        self.read += len(said)
        return said.decode(errors="replace")


def signal_thread(tgkill: int, process: int, thread: int, number: int) -> bool:
    """Send a signal to one thread of a process; False if there is no such thread."""
    import ctypes  # not before it is needed

    return ctypes.CDLL(None).syscall(tgkill, process, thread, int(number)) == 0


def _stopped(process: int) -> bool:
    """Whether somebody has stopped it (Ctrl-Z, a debugger); where there is no /proc, nobody has."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in b"Tt"
    except OSError:
        return False


if __name__ == "__main__":
    Sentry(*map(int, sys.argv[1:])).watch()
