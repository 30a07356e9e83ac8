"""What one real rank did in one launch: counts, a timeline, and the call it is in right now."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .timeline import Event

clock = time.perf_counter  # one clock for all processes of a machine


class Meter:
    """Keeps the record of one rank. Times are seconds on `clock`.

    `world` is the communicator by whose numbers the timeline knows the ranks. `show(call, group)` is told whenever the
    rank enters a call, and gets two empty strings when it leaves it. `active` holds the requests that are not complete,
    and thereby their buffers: MPI may still write into them.
    """

    def __init__(self, rank: int, world, show: Callable[[str, str], None] = lambda call, group: None):
        self.rank, self.world, self.show = rank, world, show
        self.calls: Counter = Counter()
        self.bytes_sent = self.messages = self.communicators = 0
        self.events: list[Event] = []
        self.active: dict[int, object] = {}

    @contextmanager
    def call(self, name: str, arguments: str, group: str) -> Iterator[float]:
        """Count a call and show it while it lasts; gives the time at which it started."""
        self.calls[name] += 1
        self.show(f"{name}({arguments})", group)
        try:
            yield clock()
        finally:
            self.show("", "")

    def sent(self, nbytes: int) -> None:
        """Count one message."""
        self.bytes_sent += nbytes
        self.messages += 1

    def moved(self, kind: str, start: float, peer: int, nbytes: int, group: str) -> None:
        """Note a message that was sent or received (`kind`) from `start` until now."""
        self.events.append(Event(self.rank, kind, start, clock(), peer, nbytes, group))

    def waited(self, start: float, group: str, label: str) -> None:
        """Note that the rank was in the call `label` from `start` until now."""
        self.events.append(Event(self.rank, "wait", start, clock(), group=group, label=label))
