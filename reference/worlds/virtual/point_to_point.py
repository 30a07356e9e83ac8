"""The virtual communicator's messages: mpi4py's sends, receives and probes, of buffers and of objects."""

from __future__ import annotations

from typing import Any

from ... import mpi
from .. import spelling
from ..buffers import NOTHING, Buffer, as_buffer
from ..errors import LaunchError
from ..memory import overlap
from .completion import CANCELLED, Completion, Request, SmallReceive
from .failing import raise_failed
from .member import Member
from .objects import unpack
from .requests import VirtualRequest

PROC_NULL, ANY_SOURCE, ANY_TAG, TAG_LIMIT = mpi.PROC_NULL, mpi.ANY_SOURCE, mpi.ANY_TAG, mpi.TAG_LIMIT


class Lacking:
    """In a class, a call of mpi4py's that is not offered.

    One for each: a class with `__getattr__` finds all its attributes more slowly, which was a fifth of a message.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        raise mpi.NotOffered(f"{self.name} is not one of the calls that the virtual cluster offers (reference.mpi.API)")


def read_message(buf: Any, peer: int, writable: bool = False) -> Buffer:
    """The buffer of a message; for PROC_NULL it does not matter what is given."""
    return NOTHING if peer == PROC_NULL else as_buffer(buf, writable)


def read_exchange(outgoing: Any, dest: int, incoming: Any, source: int) -> tuple[Buffer, Buffer]:
    """The buffers of a message each way. mpi.Exception if they share memory."""
    come = NOTHING if source == PROC_NULL else as_buffer(incoming, True)
    out = NOTHING if dest == PROC_NULL else as_buffer(outgoing)
    if overlap(come.raw, out.raw) and come.raw.size:
        raise mpi.Exception(mpi.ERR_BUFFER)
    return out, come


class PointToPoint(Member):
    """A communicator's half that a message needs: all that sends and receives."""

    def refuse(self, kind: type[LaunchError], cause: str) -> None:
        """End the launch with an error of the program; the others go on as far as they get, and then it is reported."""
        self._engine.doom(kind, cause)
        self._engine.stop(self._me)

    def _check_dest(self, dest: int, tag: int) -> None:
        if not 0 <= tag <= TAG_LIMIT:
            raise mpi.Exception(mpi.ERR_TAG)
        if not 0 <= dest < self.size and dest != PROC_NULL:
            raise mpi.Exception(mpi.ERR_RANK)

    def _post_send(self, buffer: Buffer, dest: int, tag: int, synchronous: bool = False) -> Completion:
        if dest == PROC_NULL:
            return self._nothing()
        me, engine, context = self._me, self._engine, self._context
        request = Request(me, context.group[dest], tag, context.key, buffer, False, synchronous or not engine.buffered)
        me.clock = time = engine.called(me, me.clock) if engine.overhead else me.clock
        engine.messages.send(time, me, request, me.turn(time))
        return request

    def _filter(
        self, buffer: Buffer | None, source: int, tag: int, blocking: bool = False, kind: type[Request] = Request
    ) -> Any:
        """A receive that has not been posted yet."""
        context = self._context
        if not 0 <= tag <= TAG_LIMIT and tag != ANY_TAG:
            raise mpi.Exception(mpi.ERR_TAG)
        if 0 <= source < self.size:
            source = context.group[source]
        elif source != ANY_SOURCE:
            raise mpi.Exception(mpi.ERR_RANK)
        return kind(self._me, source, tag, context.key, buffer, blocking)

    def _post_receive(
        self, buffer: Buffer | None, source: int, tag: int, blocking: bool = False, most: int | None = None
    ) -> Completion:
        if source == PROC_NULL:
            return self._nothing()
        blocking = blocking and (buffer is None or buffer.scattered is None)  # else it is put into place at the end
        request = self._filter(buffer, source, tag, blocking, Request if most is None else SmallReceive)
        if most is not None:
            request.most = most
        me, engine = self._me, self._engine
        me.clock = time = engine.called(me, me.clock) if engine.overhead else me.clock
        engine.messages.receive(time, me, request, me.turn(time))
        return request

    def _nothing(self) -> Completion:
        nothing = Completion()
        nothing.done_at = self._me.clock
        return nothing

    def _finish(self, completion: Completion, status: mpi.Status | None) -> Any:
        """Take delivery of a completed request; the object it carried, if it carried one."""
        completion.take_delivery()
        if status is not None:
            self.tell(completion, status)
        if not isinstance(completion, Request):
            return getattr(completion, "result", None)
        return unpack(completion.parcel) if completion.buffer is None and completion.parcel is not None else None

    def tell(self, completion: Completion, status: mpi.Status | None) -> None:
        """Fill in what is known of a completed request."""
        if status is not None:
            nobody = mpi.PROC_NULL, mpi.ANY_TAG, 0
            source, tag, nbytes = completion.status if isinstance(completion, Request) else nobody
            status.source, status.tag = self._context.rank_of.get(source, source), tag
            status.nbytes, status.dropped = max(nbytes, 0), nbytes == CANCELLED

    def _send(self, name: str, buffer: Buffer, dest: int, tag: int, synchronous: bool = False) -> None:
        self._enter(name, spelling.sending, dest, tag, buffer)
        self._check_dest(dest, tag)
        engine, requests = self._engine, [self._post_send(buffer, dest, tag, synchronous)]
        engine.wait(self._me, requests)
        if engine.errors:
            raise_failed(engine, requests)

    def _isend(self, name: str, buffer: Buffer, dest: int, tag: int, synchronous: bool = False) -> VirtualRequest:
        self._enter(name, spelling.sending, dest, tag, buffer)
        self._check_dest(dest, tag)
        return VirtualRequest(self, self._post_send(buffer, dest, tag, synchronous), buffer)

    def _receive(self, name: str, buffer: Buffer | None, source: int, tag: int, status: mpi.Status | None) -> Any:
        self._enter(name, spelling.arguments, source, tag, buffer)
        request = self._post_receive(buffer, source, tag, blocking=True)
        self._engine.wait(self._me, [request])
        if self._engine.errors:
            raise_failed(self._engine, [request])
        return self._finish(request, status)

    def _ireceive(self, name: str, buffer: Buffer | None, source: int, tag: int) -> VirtualRequest:
        self._enter(name, spelling.arguments, source, tag, buffer)
        return VirtualRequest(self, self._post_receive(buffer, source, tag), buffer)

    def _exchange(self, name, outgoing, dest, sendtag, incoming, source, recvtag, status) -> Any:
        self._enter(name, spelling.exchanging, dest, sendtag, source, recvtag, incoming)
        requests = self._post_exchange(outgoing, dest, sendtag, incoming, source, recvtag)
        self._engine.wait(self._me, requests)
        if self._engine.errors:
            raise_failed(self._engine, requests)
        return self._finish(requests[0], status)

    def _post_exchange(self, outgoing, dest, sendtag, incoming, source, recvtag) -> list[Completion]:
        self._check_dest(dest, sendtag)  # before the receive is posted: a refused call leaves nothing behind
        receive = self._post_receive(incoming, source, recvtag, blocking=True)
        return [receive, self._post_send(outgoing, dest, sendtag)]

    def Send(self, buf, dest, tag=0):
        """Send; returns when the receive has taken it (at once with buffered=True)."""
        self._send("Send", read_message(buf, dest), dest, tag)

    def Ssend(self, buf, dest, tag=0):
        """Send; returns when the receive has taken it, always."""
        self._send("Ssend", read_message(buf, dest), dest, tag, synchronous=True)

    def Recv(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None):
        """Receive into `buf`."""
        self._receive("Recv", read_message(buf, source, writable=True), source, tag, status)

    def Sendrecv(
        self,
        sendbuf,
        dest,
        sendtag=0,
        recvbuf=None,
        source=mpi.ANY_SOURCE,
        recvtag=mpi.ANY_TAG,
        status=None,
    ):
        """Send and receive at once: neither waits for the other."""
        outgoing, incoming = read_exchange(sendbuf, dest, recvbuf, source)
        self._exchange("Sendrecv", outgoing, dest, sendtag, incoming, source, recvtag, status)

    def Isend(self, buf, dest, tag=0) -> VirtualRequest:
        """Begin to send; `buf` must not change until the request is complete."""
        return self._isend("Isend", read_message(buf, dest), dest, tag)

    def Issend(self, buf, dest, tag=0) -> VirtualRequest:
        """Isend that is complete only when a receive has taken the message."""
        return self._isend("Issend", read_message(buf, dest), dest, tag, synchronous=True)

    def Irecv(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG) -> VirtualRequest:
        """Begin to receive; `buf` holds the message when the request is complete, and not before."""
        return self._ireceive("Irecv", read_message(buf, source, writable=True), source, tag)
