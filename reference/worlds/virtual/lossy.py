"""Messages of a launch with faults: some are lost or changed, and those of dead ranks do not arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from ... import mpi
from ...mpi.failures import FailureError
from ..faults import BitFlip, DropMessage, Fault
from .completion import NO_STATUS, Bell, Request
from .failing import drop_events, fail, needed, obituary, withdraw
from .matching import Matching


class LossyMatching(Matching):
    """Matching among ranks that may die, over a network that makes mistakes.

    `flights` are the transfers under way: a message and when it arrives, infinity if that is not known yet.
    """

    def __init__(self, engine: Any, sharing: str, faults: Sequence[Fault]):
        super().__init__(engine, sharing)
        self.mistakes = [fault for fault in faults if isinstance(fault, DropMessage | BitFlip)]
        self.sent: Counter = Counter()  # messages so far of each rank, and of each pair
        self.meant: dict[Request, list] = {}  # the mistakes that are made with a message
        self.flights: dict[Request, float] = {}
        self.lost: set[Request] = set()
        self.obstacles: list[str] = []  # what was lost, for reports

    def send(self, time: float, rank: Any, request: Request, turn: int) -> None:
        """Post a send; it fails at once if the rank knows that its receiver is dead."""
        self._count(request)
        if request.synchronous and self._needs_the_dead(rank, request):
            return self._refuse(time, rank, request)
        super().send(time, rank, request, turn)

    def _count(self, send: Request) -> None:
        for key in ((send.rank, None), (send.rank, send.peer)):
            self.sent[key] += 1
            meant = [one for one in self.mistakes if (one.source, one.dest) == key and one.number == self.sent[key]]
            if meant:
                self.meant.setdefault(send, []).extend(meant)

    def receive(self, time: float, rank: Any, request: Request, turn: int) -> None:
        """Post a receive; it fails at once if the rank knows that its sender is dead, and left no message."""
        if self._needs_the_dead(rank, request) and self.find(request) is None:
            return self._refuse(time, rank, request)
        super().receive(time, rank, request, turn)

    def probe(self, time: float, probe: Request) -> None:
        """The event of a blocking probe."""
        rank = self.engine.ranks[probe.rank]
        if self._needs_the_dead(rank, probe) and self.find(probe) is None:
            return self._refuse(time, rank, probe)
        super().probe(time, probe)

    def _needs_the_dead(self, rank: Any, request: Request) -> bool:
        """Whether the rank knows that the other side is dead. A message inside a collective fails with that one."""
        return request.peer in rank.failed and request.context in self.engine.contexts

    def _refuse(self, time: float, rank: Any, request: Request) -> None:
        why = f"{needed(request)}: {obituary(self.engine, [request.peer])}"
        fail(self.engine, time, rank, request, FailureError(mpi.ERR_PROC_FAILED, why))

    def _send_event(self, time: float, send: Request) -> None:
        drop = next((one for one in self.meant.get(send, ()) if isinstance(one, DropMessage)), None)
        if drop is None:
            super()._send_event(time, send)
            if send.peer in self.engine.deaths and not send.synchronous:
                withdraw(self.engine, lambda one: one is send)  # nobody will ever receive it
            return
        self.obstacles.append(f"a message of rank {send.rank} to rank {send.peer} was lost at {time:g} s ({drop})")
        group = send.call.context.name
        self.carry(
            time, send.rank, send.peer, send.buffer.raw.size, group, lambda end, _: send.complete(self.engine, end)
        )

    def _match(self, time: float, send: Request, receive: Request) -> None:
        for flip in self.meant.get(send, ()):
            if isinstance(flip, BitFlip) and send.buffer.raw.size:
                raw = send.buffer.raw.copy()
                byte, bit = divmod(flip.bit % (8 * raw.size), 8)
                raw[byte] ^= 1 << bit
                send.buffer = replace(send.buffer, raw=raw)
        super()._match(time, send, receive)

    def carry(
        self, time: float, source: int, dest: int, nbytes: int, group: str, arrive: Callable, about: Any = None
    ) -> None:
        """Carry a message from `time` on, or from when source and dest can reach each other."""
        if isinstance(about, Request):
            self.flights = {send: end for send, end in self.flights.items() if end > time}
            self.flights[about] = inf
        start = self.engine.reached(time, (source, dest))
        if start == inf:
            self.obstacles.append(f"rank {source} cannot reach rank {dest} since {time:g} s")
        elif start > time:
            later = about
            self.engine.post(start, source, lambda now: self.carry(now, source, dest, nbytes, group, arrive, later))
        if start > time:
            return
        super().carry(time, source, dest, nbytes, group, arrive, about)

    def _arrive(self, end: float, send: Request) -> None:
        if send not in self.lost:
            self.flights[send] = end
            super()._arrive(end, send)

    # Deaths ----------------------------------------------------------------------------------------------------

    def bury(self, time: float, dead: Any) -> None:
        """What becomes of the messages of a rank that dies at `time`."""
        for send, end in list(self.flights.items()):
            if end > time and dead.index in (send.rank, send.peer):
                self._lose(send, dead.index)
        withdraw(self.engine, lambda one: one.rank == dead.index and not _has_arrived(one, time))
        for (_, dest), waiting in self.sends.items():
            if dest == dead.index:
                waiting[:] = [send for send in waiting if send.synchronous]
        self.claimed = [send for send in self.claimed if send.peer != dead.index]

    def _lose(self, send: Request, dead: int) -> None:
        """A transfer under way ends without having arrived: the other side does not know, and waits again."""
        receive = send.receive
        self.lost.add(send)
        send.receive = send.arrival = None
        other = receive if send.rank == dead else send if send.synchronous else None
        if other is None:
            return
        other.peer, other.status = dead, NO_STATUS
        if other.done_at is None:
            return
        waiter, due, other.done_at = other.waiter, other.done_at, None
        if isinstance(waiter, Bell):
            drop_events(self.engine, lambda event: event[4] == waiter.ring and event[0] == due)
        elif waiter is not None:
            waiter.missing += 1
            drop_events(self.engine, lambda event: event[4] == waiter.resume)


def _has_arrived(request: Request, time: float) -> bool:
    """Whether it is a buffered message that lies at its receiver."""
    return not request.synchronous and request.arrival is not None and request.arrival <= time
