"""What each real rank runs: `python -m reference.worlds.real.worker DIRECTORY`, started by `mpirun` (job.py).

A rank is two processes. The first one is only there to see how the second one ends: were it gone too, mpirun would end
all other ranks before anybody could see where they are. The second one connects to the socket in DIRECTORY, says its
process id, starts MPI, says its rank and how many there are, and then sleeps on the socket until it is sent a program.
It runs it on a communicator made for this launch alone, so that a message which a program left behind never meets the
next program, and sends back an Outcome. What the program prints goes over the same socket, line by line, and so is
there before the result. When the parent is gone, the socket ends, and so does the rank.

Two files in DIRECTORY tell where a rank is when it does not answer: `call-R` names the MPI call it is in, and
`stack-R` receives its Python stack upon the signal SIGUSR1, or when it crashes.
"""

from __future__ import annotations

import faulthandler
import io
import math
import mmap
import os
import pickle
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import cloudpickle

from ... import mpi
from .. import settings
from ..outcomes import Order, Outcome, tell_story
from ..processes import unlink_shared_memory
from ..programs import checked_result
from ..seeding import seed_rank
from ..spelling import error_text
from .counting import KEPT, Counted
from .logbook import Board, Logbook, clock


class Channel:
    """The socket to the parent: messages are pairs (kind, content), sent whole by whichever thread sends them."""

    def __init__(self, connection: Connection):
        self.connection, self.lock = connection, threading.Lock()
        os.register_at_fork(after_in_child=self._forked)

    def send(self, kind: str, content: Any) -> None:
        """Send one message."""
        with self.lock:
            self.connection.send((kind, content))

    def listen(self, inbox: queue.SimpleQueue) -> None:
        """Put what the parent sends into `inbox`. When the parent is gone, end, whatever is going on."""
        try:
            while True:
                inbox.put(self.connection.recv())
        except (EOFError, OSError):
            unlink_shared_memory([os.getpid()])
            os._exit(1)

    def _forked(self) -> None:
        self.connection.close()  # else the parent would not see this rank's end while its child lives
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


class Lines(io.TextIOBase):
    """A text stream that sends each line to the parent as soon as it is complete."""

    def __init__(self, channel: Channel, kind: str):
        self.channel, self.kind, self.rest = channel, kind, ""

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Send the lines that `text` completes and keep the rest."""
        lines, newline, self.rest = (self.rest + text).rpartition("\n")
        if newline:
            self.channel.send(self.kind, lines + newline)
        return len(text)

    def end_line(self) -> None:
        """Send what is left of a line that was never ended."""
        if self.rest:
            self.write("\n")


def run_launch(order: Order, world, board, channel: Channel) -> tuple[Outcome, Logbook]:
    """Run one launch on this rank: the program, its result or its exception, and what was counted."""

    def started() -> None:
        comm.Barrier()
        channel.send("started", None)

    members = world.group.Incl(range(order.ranks))
    comm = world.Create_group(members, order.number % 1000)
    logbook = Logbook(comm.rank, comm, board)
    counting = Counted.over(comm, logbook, "world")
    sys.path[:] = order.path
    os.chdir(order.directory)
    with settings.restored():  # the next program starts with those of now
        outcome = run_program(order.program, counting, started)
    mpi.free_operations()
    outcome.calls, outcome.bytes_sent, outcome.messages = logbook.calls, logbook.bytes_sent, logbook.messages
    outcome.events, outcome.communicators = logbook.events, logbook.communicators
    if logbook.freed > KEPT or world.Iprobe():
        outcome.communicators = math.inf  # the next program could meet this one's messages: another job
    return outcome, logbook


def run_program(pickled: bytes, comm, started: Callable[[], None]) -> Outcome:
    """Load the program, wait in `started` until all ranks have, and run it; whatever it raises is its outcome."""
    failed: BaseException | None = None
    try:
        program, args = pickle.loads(pickled)
        seed_rank(comm.rank)
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)  # ranks are many and cores are few
    except BaseException as error:
        failed = error
    started()
    start = clock()
    try:
        if failed:
            raise failed
        result = checked_result(program(comm, *args))
        end = clock()
        return Outcome(cloudpickle.dumps(result), start=start, end=end)
    except BaseException as error:
        return Outcome(portable(error), failed=True, story=tell_story(error), start=start, end=clock())


def portable(error: BaseException) -> bytes:
    """The exception pickled, or one that has its text if it cannot be. MPI's own keep their class, not their code."""
    if isinstance(error, mpi.Exception):
        error = mpi.Exception(error.Get_error_class())
    try:
        data = cloudpickle.dumps(error)
        if type(pickle.loads(data)) is type(error):
            return data
    except BaseException:
        pass
    return pickle.dumps(RuntimeError(error_text(error)))


def open_files(directory: Path, rank: int) -> Board:
    """Open the two files that tell where this rank is; returns the board behind `call-R`."""
    stack = os.open(directory / f"stack-{rank}", os.O_WRONLY | os.O_CREAT, 0o600)  # stays open until the rank ends
    faulthandler.enable(stack)
    faulthandler.register(signal.SIGUSR1, stack)
    with open(directory / f"call-{rank}", "w+b") as file:
        file.truncate(Board.SIZE)
        return Board(mmap.mmap(file.fileno(), Board.SIZE))


def watch(child: int, connection: Connection, directory: Path) -> None:
    """Wait for the end of the rank's process `child` and tell the parent how it ended, unless it was in order."""
    _, status = os.waitpid(child, 0)
    if status:
        with suppress(EOFError, OSError):
            connection.send(("died", status))
            while True:
                connection.recv_bytes()  # stay until the parent has seen enough, or is gone itself
        shutil.rmtree(directory, ignore_errors=True)
    os._exit(status and 1)


def serve_launches(connection: Connection, directory: Path) -> None:
    """Run what the parent sends until it sends None."""
    channel, inbox = Channel(connection), queue.SimpleQueue()
    channel.send("process", (os.getpid(), os.getpgrp()))
    threading.Thread(target=channel.listen, args=(inbox,), daemon=True).start()
    world = mpi.world()
    board = open_files(directory, world.rank)
    sys.stdout, sys.stderr = Lines(channel, "stdout"), Lines(channel, "stderr")
    channel.send("rank", (world.rank, world.size))
    unfinished = []  # requests that a program left active: MPI may still write into their buffers
    while (order := inbox.get()) is not None:
        outcome, logbook = run_launch(order, world, board, channel)
        unfinished.extend(logbook.active.values())
        sys.stdout.end_line()
        sys.stderr.end_line()
        channel.send("outcome", outcome)


def main(directory: Path) -> None:
    """Be one rank of the job whose files are in `directory`."""
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # so that the parent can end this rank with all that it may have started
    connection = Client(str(directory / "socket"), "AF_UNIX")
    if child := os.fork():
        watch(child, connection, directory)
    serve_launches(connection, directory)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
