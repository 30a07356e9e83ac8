"""The virtual communicator's probes: is a message there, and, with a matched probe, this message and no other."""

from __future__ import annotations

from typing import Any

from ... import mpi
from .. import spelling
from ..buffers import NOTHING, Buffer, as_buffer
from .completion import Claim, Request
from .failing import check_sender, raise_failed
from .object_messages import ObjectMessages
from .requests import VirtualRequest


class VirtualMessage:
    """mpi4py's Message: one that a matched probe has taken, so that only this object can receive it."""

    def __init__(self, comm: Any = None, send: Request | None = None):
        self._comm, self._send, self._over = comm, send, comm is None

    def __bool__(self) -> bool:
        return not self._over

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, mpi.Message):
            return other == mpi.MESSAGE_NULL if self._over else self._send is None and other == mpi.MESSAGE_NO_PROC
        return self is other

    __hash__ = object.__hash__

    def Recv(self, buf, status=None) -> None:
        """Receive the message into `buf`."""
        request = self._begin("Message.Recv", self._read(buf))
        self._wait(request, status)

    def recv(self, status=None) -> Any:
        """Receive the object."""
        request = self._begin("Message.recv", None)
        return self._wait(request, status)

    def Irecv(self, buf) -> VirtualRequest:
        """Begin to receive the message."""
        buffer = self._read(buf)
        return VirtualRequest(self._comm, self._begin("Message.Irecv", buffer), buffer)

    def irecv(self) -> VirtualRequest:
        """Begin to receive the object."""
        return VirtualRequest(self._comm, self._begin("Message.irecv", None))

    def _wait(self, request: Any, status: mpi.Status | None) -> Any:
        comm = self._comm
        comm._engine.wait(comm._me, [request])
        if comm._engine.errors:
            raise_failed(comm._engine, [request])
        return comm._finish(request, status)

    def _read(self, buf: Any) -> Buffer:
        return NOTHING if self._send is None else as_buffer(buf, writable=True)

    def _begin(self, name: str, buffer: Buffer | None) -> Any:
        comm, send = self._comm, self._send
        if self._over:
            raise mpi.Exception(mpi.ERR_REQUEST)
        self._over = True
        if send is None:
            return comm._nothing()
        comm.note(name, spelling.arguments, comm._context.rank_of[send.rank], send.tag, buffer)
        me = comm._me
        receive = Request(me, send.rank, send.tag, send.context, buffer)
        comm._engine.messages.receive_claimed(me.clock, me, send, receive, me.turn(me.clock))
        return receive


class Probes(ObjectMessages):
    """A communicator's calls that look for messages."""

    def _probe(self, name: str, source: int, tag: int, status: mpi.Status | None, wait: bool) -> bool:
        self._enter(name, spelling.arguments, source, tag)
        if source == mpi.PROC_NULL:
            self._finish(self._nothing(), status)
            return True
        probe, engine = self._filter(None, source, tag), self._engine
        if wait:
            turn = self._me.turn(self._me.clock)  # behind the receives that this rank has posted
            engine.post(self._me.clock, self._me.index, lambda now: engine.messages.probe(now, probe), turn)
            engine.wait(self._me, [probe])
        else:
            engine.poll(self._me)
        if engine.errors:
            raise_failed(engine, [probe])
        found = engine.messages.find(probe)
        if not wait:
            engine.polled(self._me, found is not None)
            if found is None and self._me.failed:
                check_sender(engine, self._me, probe)
        if found is not None:
            self._tell(found, status)
        return found is not None

    def Probe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Wait until a message is there that such a receive would take."""
        return self._probe("Probe", source, tag, status, wait=True)

    def Iprobe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Whether a message is there that such a receive would take."""
        return self._probe("Iprobe", source, tag, status, wait=False)

    def probe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Probe for an object."""
        return self._probe("probe", source, tag, status, wait=True)

    def iprobe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Iprobe for an object."""
        return self._probe("iprobe", source, tag, status, wait=False)

    def Mprobe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> VirtualMessage:
        """Wait for a message that such a receive would take, and take it."""
        return self._mprobe("Mprobe", source, tag, status)

    def Improbe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> VirtualMessage | None:
        """Take such a message if it is there."""
        return self._improbe("Improbe", source, tag, status)

    def mprobe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> VirtualMessage:
        """Mprobe for an object."""
        return self._mprobe("mprobe", source, tag, status)

    def improbe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> VirtualMessage | None:
        """Improbe for an object."""
        return self._improbe("improbe", source, tag, status)

    def _mprobe(self, name: str, source: int, tag: int, status: mpi.Status | None) -> VirtualMessage:
        self._enter(name, spelling.arguments, source, tag)
        if source == mpi.PROC_NULL:
            self._finish(self._nothing(), status)
            return VirtualMessage(self, None)
        claim = self._filter(None, source, tag, kind=Claim)
        self._engine.messages.receive(self._me.clock, self._me, claim, self._me.turn(self._me.clock))
        self._engine.wait(self._me, [claim])
        if self._engine.errors:
            raise_failed(self._engine, [claim])
        self._tell(claim.message, status)
        return VirtualMessage(self, claim.message)

    def _improbe(self, name: str, source: int, tag: int, status: mpi.Status | None) -> VirtualMessage | None:
        if source == mpi.PROC_NULL:
            return self._mprobe(name, source, tag, status)
        if not self._probe(name, source, tag, status, wait=False):
            return None
        messages = self._engine.messages
        return VirtualMessage(self, messages.claim(messages.find(self._filter(None, source, tag))))

    def _tell(self, send: Request, status: mpi.Status | None) -> None:
        if status is not None:
            status.source, status.tag = self._context.rank_of[send.rank], send.tag
            status.nbytes, status.dropped = send.buffer.raw.size, False
