"""Things that will be complete, and who waits for them: the engine's bookkeeping."""

from __future__ import annotations

from math import inf
from typing import Any

from ... import mpi

CANCELLED = -1  # in the place of a number of bytes: none came, and none will
ANY_SOURCE, ANY_TAG = mpi.ANY_SOURCE, mpi.ANY_TAG  # looked up here with every message
NO_STATUS = ANY_SOURCE, ANY_TAG, 0


class Completion:
    """Something that will be complete at `done_at` seconds (None: not known yet); its `waiter` is told."""

    __slots__ = ("done_at", "waiter")
    steadfast = False  # whether neither a failure nor Revoke ends it

    def __init__(self):
        self.done_at: float | None = None
        self.waiter: Waiter | Bell | None = None

    def complete(self, engine: Any, time: float) -> None:
        """Fix the time of completion and tell whoever waits for it."""
        self.done_at = time
        if time > engine.horizon:
            engine.horizon = time
        if self.waiter is not None:
            self.waiter.progress(engine, time)

    def take_delivery(self) -> None:
        """What is left to do when the program learns of the completion."""

    def changed(self) -> bool:
        """Whether the program has changed a buffer that it had to leave alone."""
        return False


class Request(Completion):
    """A send or a receive. Ranks (`rank` is its owner, `peer` the other side) are numbered as in the world.

    `context` and `tag` say which receive a send can meet. A `blocking` receive's buffer is filled at the match: nobody
    can look before it is complete. A send that is not `synchronous` is buffered. Its transfer, once it has started,
    is in at `arrival` seconds; `receive` is what it has been matched with. `due` is its place in the order of events.
    A receive whose `buffer` is None takes a pickled object, of `most` bytes at most, into `parcel`.
    """

    most: float = inf
    due: tuple[float, int, int]

    __slots__ = (
        "rank", "peer", "tag", "context", "buffer", "status", "call", "blocking", "synchronous", "parcel",
        "arrival", "receive", "due",
    )  # fmt: skip

    def __init__(self, me: Any, peer, tag, context, buffer, blocking=False, synchronous=True):
        self.done_at = self.waiter = None
        self.rank, self.peer, self.tag, self.context, self.buffer = me.index, peer, tag, context, buffer
        self.call, self.blocking, self.synchronous = me.call, blocking, synchronous
        self.parcel: Any = None
        self.arrival: float | None = None
        self.receive: Request | None = None
        self.status = NO_STATUS  # source (world rank), tag, bytes; set by the match

    def accepts(self, send: Request) -> bool:
        """Whether this receive may take that message."""
        peer, tag = self.peer, self.tag
        return (peer == send.rank or peer == ANY_SOURCE) and (tag == send.tag or tag == ANY_TAG)

    def take_delivery(self) -> None:
        """Put the data where the program wanted it: at completion, so that looking earlier shows the old values."""
        if self.parcel is not None and self.buffer is not None:
            self.buffer.store(self.parcel)
            self.parcel = None


class SmallReceive(Request):
    """A receive of an object into memory of limited size."""

    __slots__ = ("most",)


class Arrival(Completion):
    """A rank that has come to a collective call, the `number`-th of its communicator, and waits for the others."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        super().__init__()
        self.number = number


class Claim(Request):
    """A matched probe: it takes a message out of the queue, and does not receive it."""

    __slots__ = ("message",)


class Waiter:
    """Is resumed (`resume`, an event of rank `index`) at the latest time of what it waits for, once all are known.

    `missing` completions are not known yet; `latest` is the latest time so far.
    """

    index: int
    missing: int
    latest: float

    def resume(self, time: float) -> Any:
        """The event: go on, at `time`; the rank to be woken for that, if any."""
        raise NotImplementedError

    def expects(self, awaited: list, start: float) -> bool:
        """Wait from `start` on; False if nothing is missing: then `latest` is known, and nobody will be resumed."""
        missing, latest = 0, start
        for completion in awaited:
            known = completion.done_at
            if known is None:
                completion.waiter = self
                missing += 1
            elif known > latest:
                latest = known
        self.missing, self.latest = missing, latest
        return missing > 0

    def progress(self, engine: Any, time: float) -> None:
        """One more completion is known."""
        if time > self.latest:
            self.latest = time
        self.missing -= 1
        if not self.missing:
            engine.post(self.latest, self.index, self.resume)


class Bell:
    """Wakes a rank as soon as any one of the completions is known, and once only."""

    __slots__ = ("rank", "start", "rung")

    def __init__(self, engine: Any, rank: Any, awaited: list):
        self.rank, self.start, self.rung = rank, rank.clock, False
        for completion in awaited:
            completion.waiter = self
            if completion.done_at is not None:
                self.progress(engine, completion.done_at)

    def progress(self, engine: Any, time: float) -> None:
        """One more completion is known."""
        engine.post(max(self.start, time), self.rank.index, self.ring)

    def ring(self, time: float) -> Any:
        """The event: wake the rank, unless an earlier one has done so."""
        if self.rung:
            return None
        self.rung = True
        return self.rank.resume(time)
