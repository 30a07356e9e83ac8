"""Messages on the virtual cluster: which receive gets which, and how long the transfer takes.

A send and a receive that are posted become events; in the order of time each looks for its counterpart among those that
wait, the earliest first, as MPI's rules of matching want it. When the two have met, the transfer books the sender's
outgoing port, the receiver's incoming port and all links of its way, for the gap and its bytes (networks/network.py),
at the earliest time at which all of them are free for so long (networks/booking.py). Nobody who comes later moves it:
both ends learn at once when it is complete, alpha + n beta after its start. Or transfers share what they meet on, and
both ends learn when it is so far (fair.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from ... import mpi
from ...networks.booking import Bookings
from ...networks.network import Route
from ..errors import CollectiveMismatch, Truncation, TypeMismatch
from . import report
from .completion import CANCELLED, Claim, Request
from .fair import Fair


class Matching:
    """What has been posted and not matched yet, and when each port and link is taken."""

    def __init__(self, engine: Any, sharing: str):
        self.engine = engine
        self.sends: dict[Any, list[Request]] = defaultdict(list)  # (context, dest) -> in the order of posting
        self.receives: dict[Any, list[Request]] = defaultdict(list)
        self.probes: dict[Any, list[Request]] = defaultdict(list)
        self.claimed: list[Request] = []  # by matched probes, and not received yet
        self.bookings = Bookings()
        self.fair = Fair(engine) if sharing == "fair" else None
        self._way = cache(self._find_way)  # a launch asks for the same few over and over

    def send(self, time: float, rank: Any, request: Request, turn: int) -> None:
        """Post a send at `time`; a buffered one is complete at once, its data copied away."""
        rank.count(request.buffer.raw.size)
        if not request.synchronous:
            request.buffer = replace(request.buffer, raw=request.buffer.raw.copy())
        request.due = time, turn, rank.index
        self.engine.post(time, rank.index, self._send_event, turn, request)

    def receive(self, time: float, rank: Any, request: Request, turn: int) -> None:
        """Post a receive at `time`.

        It needs an event only if a message waits for it, now or when its time comes. As long as none does it may stand
        in the queue before its time: whoever looks there is the rank itself, later on, or a send, which sees it.
        """
        request.due = time, turn, rank.index
        place = request.context, request.rank
        for send in self.sends[place]:
            if request.accepts(send):
                return self._receive_when_due(request)
        self.receives[place].append(request)

    def _receive_when_due(self, receive: Request) -> None:
        time, turn, rank = receive.due
        self.engine.post(time, rank, self._receive_event, turn, receive)

    def _send_event(self, time: float, send: Request) -> None:
        if not send.synchronous:
            send.complete(self.engine, time)
            self.carry(time, send.rank, send.peer, send.buffer.raw.size, send.call.context.name, self._arrive, send)
        place = send.context, send.peer
        receives = self.receives[place]
        for number, receive in enumerate(receives):
            if receive.accepts(send):
                del receives[number]
                if receive.due < send.due:
                    return self._match(time, send, receive)
                self._receive_when_due(receive)
                break
        self.sends[place].append(send)
        for probe in self.probes.get(place, ()):
            if probe.accepts(send):
                self.probes[place].remove(probe)
                probe.complete(self.engine, time)
                break

    def _receive_event(self, time: float, receive: Request) -> None:
        place = receive.context, receive.rank
        sends = self.sends[place]
        for number, send in enumerate(sends):
            if receive.accepts(send):
                del sends[number]
                self._match(time, send, receive)
                return
        self.receives[place].append(receive)

    def find(self, receive: Request) -> Request | None:
        """The first message that has been sent and that this receive (or probe) may take."""
        return next((send for send in self.sends[receive.context, receive.rank] if receive.accepts(send)), None)

    def probe(self, time: float, probe: Request) -> None:
        """The event of a blocking probe: complete now, or with the first message that fits."""
        if self.find(probe):
            probe.complete(self.engine, time)
        else:
            self.probes[probe.context, probe.rank].append(probe)

    def claim(self, send: Request) -> Request:
        """Take a message that waits out of the queue; only who has it can receive it then."""
        self.sends[send.context, send.peer].remove(send)
        self.claimed.append(send)
        return send

    def receive_claimed(self, time: float, rank: Any, send: Request, receive: Request, turn: int) -> None:
        """Post the receive of a message that has been claimed."""
        self.claimed.remove(send)
        self.engine.post(time, rank.index, lambda now: self._match(now, send, receive), turn)

    def cancel(self, time: float, request: Request) -> None:
        """The event: a receive or a send that has not met its counterpart is complete, without it."""
        for waiting in (self.receives[request.context, request.rank], self.sends[request.context, request.peer]):
            if request in waiting:
                waiting.remove(request)
                request.status = (mpi.ANY_SOURCE, mpi.ANY_TAG, CANCELLED)
                request.complete(self.engine, time)

    def _match(self, time: float, send: Request, receive: Request) -> None:
        sent, wanted = send.buffer, receive.buffer
        raw = sent.raw
        size = raw.size
        if wanted is None:
            if type(receive) is Claim:
                claim: Any = receive
                claim.message = send
                self.claimed.append(send)
                return receive.complete(self.engine, time)
            if size > receive.most:
                return self.engine.doom(Truncation, report.truncation_cause(send, receive))
        else:
            into = wanted.raw
            if sent.dtype != wanted.dtype and size:
                return self.engine.doom(TypeMismatch, report.type_cause(send, receive))
            if size != into.size:
                if size > into.size:
                    return self.engine.doom(Truncation, report.truncation_cause(send, receive))
                if send.tag in mpi.OWN_TAGS:
                    return self.engine.doom(CollectiveMismatch, report.length_cause(send, receive))
                into = into[:size]
        if receive.blocking and wanted is not None:
            into[...] = raw
        else:
            receive.parcel = raw.copy() if send.synchronous else raw
        receive.status = send.rank, send.tag, size
        send.receive = receive
        if send.synchronous:
            self.carry(time, send.rank, send.peer, size, send.call.context.name, self._arrive, send)
        elif send.arrival is not None:
            receive.complete(self.engine, max(time, send.arrival))

    def _arrive(self, end: float, send: Request) -> None:
        send.arrival = end
        if send.synchronous:
            send.complete(self.engine, end)
        if send.receive is not None:
            send.receive.complete(self.engine, end)

    def carry(
        self, time: float, source: int, dest: int, nbytes: int, group: str, arrive: Callable, about: Any = None
    ) -> None:
        """Carry a message from `time` on; arrive(end, about) is called as soon as it is known when it will be there."""
        if source == dest:
            return arrive(time, about)
        alpha, beta, held, taken, way, route = self._way(source, dest)
        if self.fair is not None:
            return self.fair.carry(
                time,
                way,
                route,
                nbytes,
                lambda end: arrive(self._note(source, time, end + (alpha - held), dest, nbytes, group), about),
            )
        start = self.bookings.take(time, taken, held + nbytes * beta)
        return arrive(self._note(source, start, start + (alpha + nbytes * beta), dest, nbytes, group), about)

    def _find_way(self, source: int, dest: int) -> tuple[float, float, float, list[list[float]], tuple, Route]:
        """Its alpha and beta, for how long an empty message holds it, what is booked of it so far, its things."""
        route = self.engine.network.route(source, dest)
        way = ("out", source), ("in", dest), *route.links
        return route.alpha, route.beta, route.holds(0), self.bookings.taken(way), way, route

    def _note(self, source: int, start: float, end: float, dest: int, nbytes: int, group: str) -> float:
        """Put a transfer into the timeline; return when it ends."""
        sent = source, "send", start, end, dest, nbytes, group, ""
        self.engine.record.add((*sent, dest, "recv", start, end, source, nbytes, group, ""))
        return end
