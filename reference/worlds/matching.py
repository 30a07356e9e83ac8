"""Messages on the virtual cluster: which receive gets which, and how long the transfer takes.

A send and a receive that are posted become events; in the order of time each looks for its counterpart among those that
wait, the earliest first, as MPI's rules of matching want it. When the two meet, the transfer reserves the sender's
outgoing port, the receiver's incoming port and all links of its way: it starts when the last of them is free and holds
them for alpha + n beta (networks.py). Nobody overtakes: who has reserved keeps his place. That moment fixes when both
ends are complete.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

from . import report
from .completion import Request
from .errors import Truncation, TypeMismatch
from .timeline import Event


class Matching:
    """What has been posted and not matched yet, and when each port and link is free again (seconds)."""

    def __init__(self, engine: Any):
        self.engine = engine
        self.sends: dict[Any, list[Request]] = defaultdict(list)  # (context, dest) -> in the order of posting
        self.receives: dict[Any, list[Request]] = defaultdict(list)
        self.probes: dict[Any, list[Request]] = defaultdict(list)
        self.free: dict[Any, float] = defaultdict(float)
        self._route = cache(engine.network.route)  # a launch asks for the same few routes over and over

    def send(self, time: float, rank: Any, request: Request) -> None:
        """Post a send at `time`; a buffered one is complete at once, its data copied away."""
        self.engine.count(rank, request.buffer.raw.size)
        if not request.synchronous:
            request.buffer = request.buffer._replace(raw=request.buffer.raw.copy())
        self.engine.post(time, rank.index, lambda now: self._send_event(now, request))

    def receive(self, time: float, request: Request) -> None:
        """Post a receive at `time`."""
        self.engine.post(time, request.rank, lambda now: self._receive_event(now, request))

    def _send_event(self, time: float, send: Request) -> None:
        if not send.synchronous:
            send.arrival = self._carry(time, send)
            send.complete(self.engine, time)
        place = send.context, send.peer
        for number, receive in enumerate(self.receives[place]):
            if receive.accepts(send):
                del self.receives[place][number]
                self._match(time, send, receive)
                return
        self.sends[place].append(send)
        for probe in self.probes[place]:
            if probe.accepts(send):
                self.probes[place].remove(probe)
                probe.complete(self.engine, time)
                break

    def _receive_event(self, time: float, receive: Request) -> None:
        place = receive.context, receive.rank
        send = self.find(receive)
        if send is None:
            self.receives[place].append(receive)
        else:
            self.sends[place].remove(send)
            self._match(time, send, receive)

    def find(self, receive: Request) -> Request | None:
        """The first message that has been sent and that this receive (or probe) may take."""
        return next((send for send in self.sends[receive.context, receive.rank] if receive.accepts(send)), None)

    def probe(self, time: float, probe: Request) -> None:
        """The event of a blocking probe: complete now, or with the first message that fits."""
        if self.find(probe):
            probe.complete(self.engine, time)
        else:
            self.probes[probe.context, probe.rank].append(probe)

    def _match(self, time: float, send: Request, receive: Request) -> None:
        sent, wanted = send.buffer, receive.buffer
        if wanted is not None:
            if sent.dtype != wanted.dtype and sent.raw.size:
                return self.engine.doom(TypeMismatch, report.type_cause(send, receive))
            if sent.raw.size > wanted.raw.size:
                return self.engine.doom(Truncation, report.truncation_cause(send, receive))
        end = self._carry(time, send) if send.arrival is None else max(time, send.arrival)
        if receive.blocking and wanted is not None:
            wanted.raw[: sent.raw.size] = sent.raw
        else:
            receive.parcel = sent.raw.copy() if send.synchronous else sent.raw
        receive.status = (send.rank, send.tag, sent.raw.size)
        receive.complete(self.engine, end)
        if send.done_at is None:
            send.complete(self.engine, end)

    def _carry(self, time: float, send: Request) -> float:
        return self.reserve(time, send.rank, send.peer, send.buffer.raw.size, send.group.name)

    def reserve(self, time: float, source: int, dest: int, nbytes: int, group: str) -> float:
        """Book the way of a message from `time` on, first come, first served; return when it has arrived."""
        route = self._route(source, dest)
        if source == dest:
            return time
        free, held = self.free, (("out", source), ("in", dest), *route.links)
        start = max(time, max([free[thing] for thing in held]))
        end = start + (route.alpha + nbytes * route.beta)
        for thing in held:
            free[thing] = end
        self.engine.timeline.append(Event(source, "send", start, end, dest, nbytes, group))
        self.engine.timeline.append(Event(dest, "recv", start, end, source, nbytes, group))
        return end
