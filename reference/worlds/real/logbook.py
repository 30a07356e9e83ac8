"""What one real rank did in one launch: counts, a timeline, and the call it is in right now."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ...perf.timeline import Event

clock = time.perf_counter  # one clock for all processes of a machine


class Board:
    """Where a rank writes which call it is in, for the roll call, should it never return.

    `memory` (at least SIZE bytes) starts with 1 while the rank is in the call that follows, with 0 when it has left it.
    """

    SIZE = 256

    def __init__(self, memory=None):
        self.memory = bytearray(self.SIZE) if memory is None else memory

    def enter(self, call: str, group: str) -> None:
        """The rank is in `call` on the communicator `group`."""
        self.memory[: self.SIZE] = f"\1{call}\n{group}".encode()[: self.SIZE].ljust(self.SIZE, b"\0")

    def leave(self) -> None:
        """The rank has left the call."""
        self.memory[0] = 0

    def clear(self) -> None:
        """Forget the last call."""
        self.memory[: self.SIZE] = bytes(self.SIZE)

    @classmethod
    def read(cls, memory: bytes) -> tuple[bool, str, str]:
        """Whether the rank is in a call, that call (or the last one), and its communicator."""
        call, _, group = memory[1:].rstrip(b"\0").decode(errors="replace").partition("\n")
        return memory[:1] == b"\1", call, group


class Logbook:
    """Keeps the record of one rank. Times are seconds on `clock`.

    `world` is the communicator by whose numbers the timeline knows the ranks. `active` holds the requests that are not
    complete, and thereby their buffers: MPI may still write into them.
    """

    def __init__(self, rank: int, world, board: Board | None = None):
        self.rank, self.world, self.board = rank, world, board or Board()
        self.board.clear()
        self.calls: Counter = Counter()
        self.bytes_sent = self.messages = self.communicators = self.freed = 0
        self.events: list[Event] = []
        self.active: dict[int, object] = {}

    @contextmanager
    def call(self, name: str, arguments: str, group: str) -> Iterator[float]:
        """Count a call and show it while it lasts; gives the time at which it started."""
        self.calls[name] += 1
        self.board.enter(f"{name}({arguments})", group)
        try:
            yield clock()
        finally:
            self.board.leave()

    def sent(self, nbytes: int) -> None:
        """Count one message."""
        self.bytes_sent += nbytes
        self.messages += 1

    def moved(self, kind: str, start: float, peer: int, nbytes: int, group: str) -> None:
        """Note a message that was sent or received (`kind`) from `start` until now."""
        self.events.append(Event(self.rank, kind, start, clock(), peer, nbytes, group))

    def computed(self, start: float) -> None:
        """Note that the rank computed from `start` until now."""
        self.events.append(Event(self.rank, "compute", start, clock()))

    def waited(self, start: float, group: str, label: str) -> None:
        """Note that the rank was in the call `label` from `start` until now."""
        self.events.append(Event(self.rank, "wait", start, clock(), group=group, label=label))
