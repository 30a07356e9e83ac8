"""Starting a job of real ranks, and telling within seconds why it does not start.

A rank shows up in three steps: it connects to our socket, says its process id, and, once MPI has started, its number.
That takes a second or two. What goes wrong is told as soon as it shows:

    a rank's process dies    its other process says how; or the socket ends
    mpirun ends              with its status and its last words
    nothing moves            no step, no word, no import that computes for SILENT_SECONDS: dead, and not only slow

Times are multiplied by the pace of the machine (perf/pace.py).
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import psutil

from ...perf.pace import pace
from ..errors import LaunchError
from ..processes import alive, cause_of_death, descendants, environment, mpirun_command, stopped

START_SECONDS = 60.0  # for all ranks to start, as long as something moves
SILENT_SECONDS = 12.0  # without a sign of life
SETTLE_SECONDS = 1.0  # for mpirun to say its last words when a rank has died
SMALL_SHARED_MEMORY = 64 << 20  # bytes; with less, MPI may not start
SHARED_MEMORY = Path("/dev/shm")
SHELL_TEST = """from mpi4py import MPI; print(MPI.COMM_WORLD.rank)"""


class Start:
    """The start of `ranks` ranks. Afterwards `channels`, `pids` and `groups` are in the order of the ranks."""

    def __init__(self, ranks: int, directory: Path):
        self.ranks, self.directory = ranks, directory
        self.process: Any = None  # mpirun, once it has been started
        self.channels: list[Connection] = []
        self.people: dict[Connection, tuple[int, int]] = {}  # process id and process group
        self.places: dict[Connection, tuple[int, int]] = {}  # rank and number of ranks
        self.progress, self._signs = 0.0, 0

    @property
    def pids(self) -> list[int]:
        """The process ids known so far."""
        return [self.people[channel][0] for channel in self.channels if channel in self.people]

    @property
    def groups(self) -> list[int]:
        """The process groups known so far."""
        return [self.people[channel][1] for channel in self.channels if channel in self.people]

    def run(self) -> None:
        """Start them all, or raise a LaunchError that says what happened and what to do."""
        command = mpirun_command(self.ranks, sys.executable, "-m", "reference.worlds.real.worker", str(self.directory))
        try:
            with socket.socket(socket.AF_UNIX) as door, open(self.directory / "log", "wb") as log:
                door.bind(str(self.directory / "socket"))
                door.listen(self.ranks)
                self.process = subprocess.Popen(
                    command, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
                self._welcome(door)
        except OSError as error:
            self._fail(f"the system says: {error}", "Look at the file or the limit that it names")
        if sorted(self.places.values()) != [(rank, self.ranks) for rank in range(self.ranks)]:
            self._fail(
                f"mpirun started {self.ranks} processes, but they see {sorted(self.places.values())} as (rank, ranks)",
                "This mpirun belongs to another MPI than the one that mpi4py uses. Use the one beside your python",
            )
        self.channels.sort(key=self.places.__getitem__)

    def _welcome(self, door: socket.socket) -> None:
        """Take what comes until every rank has said its number."""
        began = self.progress = monotonic()
        while len(self.places) < self.ranks:
            ready: list[Any] = wait([door, *self.channels], 0.1)
            for thing in ready:
                if thing is door:
                    self.channels.append(Connection(door.accept()[0].detach()))
                else:
                    self._hear(thing)
            if ready or self._moves():
                self.progress = monotonic()
            elif self.process.poll() is not None:
                self._mpirun_ended()
            elif gone := next((pid for pid in [*self.pids, *self.groups] if not alive(pid)), None):
                self._fail(f"process {gone}, one of {self.ranks} ranks, was ended while MPI started", self._advice(""))
            elif monotonic() > self.progress + SILENT_SECONDS * pace():
                self._fail(*self._silence(self.progress))
            if monotonic() > began + START_SECONDS * pace():
                self._fail(*self._silence(began))

    def _hear(self, channel: Connection) -> None:
        try:
            kind, content = channel.recv()
        except (EOFError, OSError):
            return self._rank_ended(channel, "ended without a word")
        if kind == "died":
            self._rank_ended(channel, cause_of_death(content))
        {"process": self.people, "rank": self.places}[kind][channel] = content
        return None

    def _moves(self) -> bool:
        """Whether mpirun has said something, or processes that are not here yet (so they import) have computed."""
        signs = (self.directory / "log").stat().st_size
        if len(self.people) < self.ranks:
            signs += sum(map(self._work, set(descendants(self.process.pid)) - {*self.pids, *self.groups}))
        before, self._signs = self._signs, signs
        return signs != before

    def _work(self, pid: int) -> int:
        """A number that grows as long as a rank's process computes, or changes when it waits for its disk."""
        try:
            process = psutil.Process(pid)
            ours = str(self.directory) in process.cmdline()  # and not mpirun's helpers, which may wait by computing
            return ours and round(100 * sum(process.cpu_times()[:2])) + (process.status() == psutil.STATUS_DISK_SLEEP)
        except psutil.Error:
            return 0

    # What went wrong -------------------------------------------------------------------------------------------

    def _fail(self, what: str, advice: str) -> NoReturn:
        log = (self.directory / "log").read_text(errors="replace")[-4000:].strip() if self.process else ""
        said = f"mpirun's last words:\n{log}" if log else "mpirun said nothing."
        raise LaunchError(f"no real ranks: {what}. {advice}", details=said)

    def _rank_ended(self, channel: Connection, how: str) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(SETTLE_SECONDS * pace())
        who = f"process {self.people[channel][0]}" if channel in self.people else "a process"
        while_what = "after MPI had started on it" if channel in self.places else "while MPI started"
        self._fail(f"{who}, one of {self.ranks} ranks, {how} {while_what}", self._advice(how))

    def _mpirun_ended(self) -> NoReturn:
        status = self.process.returncode
        how = f"ended with status {status}" if status >= 0 else f"was killed by {signal.Signals(-status).name}"
        self._fail(
            f"{self.process.args[0]} {how} when {len(self.places)} of {self.ranks} ranks had started",
            self._advice("SIGKILL" if status in (9, 137, -9) else ""),
        )

    def _silence(self, since: float) -> tuple[str, str]:
        here, started = len(self.people), len(self.places)
        what = (
            f"after {monotonic() - since:.0f} s {here} of {self.ranks} processes of {self.process.args[0]} were there, "
            f"and MPI had started on {started} of them"
        )
        halted = stopped([self.process.pid, *descendants(self.process.pid)])
        if halted:
            return what, f"Stopped by a signal: {', '.join(map(str, halted))}. `kill -CONT` lets a process go on"
        return what, self._advice("") + ". If the machine is only slow: try again, with EVERY_RANK_PACE=20"

    def _advice(self, how: str) -> str:
        """The next step that fits."""
        if why := small_shared_memory():
            return why
        if "SIGKILL" in how:
            return (
                "SIGKILL mostly comes from the system when memory runs out: `dmesg | tail` tells, and fewer ranks help"
            )
        return f'See whether MPI works by itself: {self.process.args[0]} -n 2 {sys.executable} -c "{SHELL_TEST}"'


def small_shared_memory() -> str:
    """What to do about too little shared memory; nothing if there is enough, or no such place (macOS)."""
    try:
        total, _, free = shutil.disk_usage(SHARED_MEMORY)
    except OSError:
        return ""
    if free >= SMALL_SHARED_MEMORY:
        return ""
    return (
        f"{SHARED_MEMORY} has {free >> 10:,} KiB free of {total >> 10:,}, and ranks exchange their messages there: "
        f"remove what others left in it, or make it larger (a container: --shm-size=1g; else as root: "
        f"mount -o remount,size=1g {SHARED_MEMORY})"
    )
