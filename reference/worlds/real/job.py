"""Real ranks: one persistent `mpirun` job, to which this process sends programs.

Starting eight ranks takes about a second, so the job is started at the first launch and kept. Each rank (worker.py)
holds a socket to this process and sleeps on it. A launch sends the pickled program to the first P of them and waits
for P outcomes. Three things can go wrong, and the sockets tell them apart:

    a rank raises        its outcome says so; the others get a moment to finish or to raise too
    a rank hangs         no outcome in time: the stacks of all that are left are collected
    a rank dies          the process that watches it says how

After a hang or a death the job is killed, with all that it has started and what it left in shared memory, and the next
launch starts a new one. If this process dies, the sockets end and every rank ends itself.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ...perf.pace import pace
from ..errors import LaunchError, ProgramAborted, RankDied, TimedOut
from ..outcomes import Order, Outcome, Snapshot, details, failure, make_run, read_dump, roll_call, tell_story
from ..processes import (
    cause_of_death,
    descendants,
    end_mpirun,
    exists,
    kill,
    kill_groups,
    stopped,
    unlink_shared_memory,
    wait_gone,
)
from ..run import Run
from ..sentry import TGKILL, signal_thread
from ..spelling import ranks_text
from .logbook import Board
from .starting import Start

MIN_RANKS = 8  # started even if fewer are asked for
LOAD_SECONDS = 120.0  # for all ranks to import what the program needs; the launch's own time starts after that
GRACE_SECONDS = 2.0  # for the other ranks, once one has raised
STOPPED_SECONDS = 5.0  # for a rank that is stopped before all have begun to go on
LOOK_SECONDS = 1.0  # for the stacks of ranks that do not answer; all these are multiplied by the machine's pace()
LONGEST_WAIT = 1.0  # between two looks at the clock
MAX_COMMUNICATORS = 1500  # MPICH has 2048 a process; ours are never reused, so the job is renewed in good time


class Job:
    """One `mpirun` job: the `channels`, process ids and process groups of its ranks, in the order of the ranks."""

    def __init__(self, ranks: int):
        self.ranks, self.launches = ranks, 0
        self.communicators = 0.0  # that its ranks have made
        self.channels: list[Connection] = []
        self.pids: list[int] = []
        self.groups: list[int] = []
        self.process: subprocess.Popen | None = None
        self.directory = Path(tempfile.mkdtemp(prefix="ranks-"))  # only this user may look into it
        start = Start(ranks, self.directory)
        try:
            start.run()
        except BaseException:
            self._adopt(start)
            self.kill()
            raise
        self._adopt(start)
        unlink_shared_memory(self.pids)  # all ranks have it mapped; without a name it cannot be left behind

    def _adopt(self, start: Start) -> None:
        self.process, self.channels, self.pids, self.groups = start.process, start.channels, start.pids, start.groups

    def ready(self) -> bool:
        """Whether all ranks are there. Also passes on what they printed since the last launch."""
        while readable := self._readable(0.0):
            for channel in readable:
                if self._receive(channel, {})[0] == "died":
                    return False
        return bool(self.channels) and self.process.poll() is None and all(map(exists, self.pids))

    def _readable(self, seconds: float) -> list[Any]:
        """The channels from which something can be received, when that many seconds have passed or one has."""
        return wait(self.channels, seconds)

    def run(self, program: bytes, ranks: int, timeout: float) -> Run:
        """Run the pickled program on the first `ranks` ranks. Whatever goes wrong beyond exceptions kills the job."""
        self.launches += 1
        try:
            self._send(Order(self.launches, ranks, program, sys.path, os.getcwd()))
            outcomes, dead = self._collect(ranks, timeout)
            missing = set(range(ranks)) - set(outcomes)
            seen = self._look(missing - set(dead)) if missing else {}
            if dead:
                raise self._obituary(ranks, outcomes, seen, dead)
        except BaseException:
            self.kill()
            raise
        pids = self.pids
        if missing:
            self.kill()
        self.communicators = max(
            [self.communicators, *(self.communicators + o.communicators for o in outcomes.values())]
        )
        results, errors = _unpack(outcomes)
        if errors:
            raise failure(ranks, outcomes, errors, seen)
        if missing:
            cause = f"not done after {timeout:g} s of real time: {ranks_text(missing)} of {ranks}"
            cause += "".join(_halted(rank, pids[rank]) for rank, sight in seen.items() if sight.stopped)
            raise TimedOut(cause, roll_call(ranks, outcomes, seen), details(outcomes, seen))
        return make_run([outcomes[rank] for rank in range(ranks)], results)

    def _send(self, order: Order) -> None:
        message = pickle.dumps(order)
        for channel in self.channels[: order.ranks]:
            with suppress(OSError):  # it died just now: its socket will tell
                channel.send_bytes(message)

    def _collect(self, ranks: int, timeout: float) -> tuple[dict[int, Outcome], dict[int, int]]:
        """The outcomes that came in time; or, as soon as a rank died, the dead with their wait status (-1: unknown)."""
        outcomes: dict[int, Outcome] = {}
        dead: dict[int, int] = {}
        started, deadline = False, monotonic() + LOAD_SECONDS * pace()
        while len(outcomes) < ranks and not dead and (left := deadline - monotonic()) > 0:
            for channel in (readable := self._readable(min(left, LONGEST_WAIT))):
                kind, content = self._receive(channel, outcomes)
                if kind == "died":
                    dead[self.channels.index(channel)] = content
                elif kind == "started" and not started:
                    started, deadline = True, monotonic() + timeout
                elif kind == "outcome" and content.failed:
                    deadline = min(deadline, monotonic() + GRACE_SECONDS * pace())
            if not started and not readable and stopped(self.pids[:ranks]):
                deadline = min(deadline, monotonic() + STOPPED_SECONDS * pace())
        return outcomes, dead

    def _receive(self, channel: Connection, outcomes: dict[int, Outcome]) -> tuple[str, Any]:
        """Take and return one message; an outcome is put where it belongs, what was printed is printed."""
        try:
            kind, content = channel.recv()
        except (EOFError, OSError):
            return "died", -1
        if kind == "outcome":
            outcomes[self.channels.index(channel)] = content
        elif kind in ("stdout", "stderr"):
            getattr(sys, kind).write(content)
        return kind, content

    def _look(self, ranks: Iterable[int]) -> dict[int, Snapshot]:
        """Where these ranks are: each is asked for its Python stack by a signal, which it answers even in a C call."""
        halted = stopped(self.pids[rank] for rank in ranks)
        for pid in (self.pids[rank] for rank in ranks):
            with suppress(OSError):
                _ask_for_stack(pid)
                os.kill(pid, signal.SIGCONT)  # whoever is stopped shows where as soon as it goes on
        files = [self.directory / f"stack-{rank}" for rank in ranks]
        deadline, sizes = monotonic() + LOOK_SECONDS * pace(), []
        while monotonic() < deadline and (not all(sizes) or sizes != [file.stat().st_size for file in files]):
            sizes = [file.stat().st_size for file in files]
            sleep(0.05)
        return {rank: self._snapshot(rank, self.pids[rank] in halted) for rank in ranks}

    def _snapshot(self, rank: int, halted: bool = False) -> Snapshot:
        board = (self.directory / f"call-{rank}").read_bytes()
        stack = (self.directory / f"stack-{rank}").read_text(errors="replace")
        return Snapshot(*Board.read(board), read_dump(stack), halted)

    def _obituary(self, ranks, outcomes, seen, dead) -> LaunchError:
        """The error for ranks that died: how, and where the others were."""
        seen = seen | {rank: self._snapshot(rank) for rank in dead}
        if callers := [rank for rank, sight in seen.items() if sight.waiting and sight.call.startswith("Abort(")]:
            sight = seen[callers[0]]
            cause = f"rank {callers[0]} called {sight.call.replace('errorcode=', '')} on {sight.group!r}"
            return ProgramAborted(cause, roll_call(ranks, outcomes, seen, dead), details(outcomes, seen))
        deaths = ", ".join(f"rank {rank} {cause_of_death(status)}" for rank, status in sorted(dead.items()))
        return RankDied(
            f"{deaths}; the launch was stopped", roll_call(ranks, outcomes, seen, dead), details(outcomes, seen)
        )

    def close(self) -> None:
        """End the job in peace if it is idle, else by force."""
        for channel in self.channels:
            with suppress(OSError):
                channel.send(None)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=2 * pace())
        self.kill()

    def kill(self) -> None:
        """End every process of the job and remove what it left."""
        others = descendants(self.process.pid) if self.process else []  # also those that never said who they are
        unlink_shared_memory([*self.pids, *others])
        kill_groups(self.groups)
        kill(others)
        if self.process:
            end_mpirun(self.process)
        wait_gone([*self.pids, *self.groups, *others])
        self.disown()
        shutil.rmtree(self.directory, ignore_errors=True)

    def disown(self) -> None:
        """Close our ends of the sockets; a forked child does this, for the job is its parent's."""
        for channel in self.channels:
            channel.close()
        self.channels, self.pids, self.groups = [], [], []


def _ask_for_stack(pid: int) -> None:
    """SIGUSR1, where possible to the thread in which the program runs: it answers before it goes on itself."""
    if not (TGKILL and signal_thread(TGKILL, pid, pid, signal.SIGUSR1)):
        os.kill(pid, signal.SIGUSR1)


def _halted(rank: int, pid: int) -> str:
    return f"; rank {rank} was stopped (SIGSTOP, Ctrl-Z or a debugger), `kill -CONT {pid}` in time lets it go on"


def _unpack(outcomes: dict[int, Outcome]) -> tuple[list[Any], dict[int, BaseException]]:
    """Results in the order of the ranks, and exceptions by rank; a result that cannot be loaded here is one, too."""
    results, errors = [], {}
    for rank, outcome in sorted(outcomes.items()):
        try:
            value = pickle.loads(outcome.value)
        except Exception as error:
            value, outcome.failed, outcome.story = error, True, tell_story(error)
        if outcome.failed:
            errors[rank] = value if isinstance(value, BaseException) else RuntimeError(outcome.story[-1][0])
        else:
            results.append(value)
    return results, errors
