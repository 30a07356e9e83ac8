"""A real communicator that keeps count: mpi4py's `Intracomm`, every call of which is noted by a `Logbook`.

MPI says neither how many bytes a program sent nor where it is stuck. Both are easy to know from above: `CountingComm`
is a subclass of mpi4py's communicator, so a program cannot tell the difference, and each call notes what it is (for the
roll call, should it never return), when it started and ended (for the timeline), and what it sent.

What can be counted is what the program itself sends with point-to-point calls. What a collective call of the MPI
library sends inside remains the library's secret; on the virtual cluster it is counted too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial, wraps
from typing import Any, Literal

from ... import mpi
from .. import spelling
from ..buffers import as_buffer
from .logbook import Logbook, clock

_Communicator: Any = object  # to a type checker one of mpi4py's, which stands behind it wherever it is mixed in


class Counted(_Communicator):
    """What is added to mpi4py's communicators: a `logbook`, a name that is remembered, and calls that are noted."""

    logbook: Logbook
    _name = _there = ""

    @classmethod
    def over(cls, comm: mpi.Intracomm, logbook: Logbook, name: str = "") -> Any:
        """The same communicator, noted by `logbook`; COMM_NULL stays as it is."""
        if comm == mpi.COMM_NULL:
            return comm
        kind = CountingCart if isinstance(comm, mpi.Cartcomm) else CountingComm
        counting = kind(comm)
        counting.logbook, counting._name = logbook, name
        counting._there = "" if comm.rank == logbook.rank else f" (rank {comm.rank} there)"
        logbook.communicators += 1
        return counting

    def derived(self, comm: mpi.Intracomm, label: str) -> Any:
        """A communicator that was made from this one, and is named after it."""
        return self.over(comm, self.logbook, f"{self._name}.{label}")

    def Set_name(self, name: str) -> None:
        """Name the communicator; timelines and roll calls print it."""
        self._name = name
        super().Set_name(name)

    def Get_name(self) -> str:
        """The name of the communicator."""
        return self._name

    name = property(Get_name, Set_name)

    @property
    def _place(self) -> str:
        return self._name + self._there

    @cached_property
    def _world_ranks(self) -> list[int]:
        return self.group.Translate_ranks(None, self.logbook.world.group)

    def peer(self, rank: int) -> int:
        """The number in the world of a rank of this communicator; -1 for PROC_NULL."""
        return self._world_ranks[rank] if rank >= 0 else -1

    def compute(self, seconds: float = 0.0, reduced: int = 0) -> None:
        """Behind mpi.compute: keep the core busy, and note it. A reduction has taken its own time already."""
        if seconds > 0:
            start = clock()
            mpi.spin(seconds)
            self.logbook.computed(start)

    @contextmanager
    def noted(self, name: str, arguments: str = "") -> Iterator[float]:
        """Count a call of that name and show it while it lasts; gives the time at which it started."""
        with self.logbook.call(name, arguments, self._place) as start:
            yield start

    def sent(self, nbytes: int, dest: int, start: float | None = None) -> None:
        """Count a message to `dest`, and put it into the timeline if it was sent from `start` until now."""
        if dest != mpi.PROC_NULL:
            self.logbook.sent(nbytes)
            if start is not None:
                self.logbook.moved("send", start, self.peer(dest), nbytes, self._name)

    def received(self, status: mpi.Status, start: float) -> None:
        """Put the message of which `status` tells into the timeline: received from `start` until now."""
        if status.Get_source() != mpi.PROC_NULL:
            self.logbook.moved("recv", start, self.peer(status.Get_source()), status.Get_count(mpi.BYTE), self._name)

    def Split(self, color=0, key=0) -> Counted:
        """The communicator of all ranks that give the same color, in the order of their keys."""
        with self.noted("Split", f"color={color}, key={key}"):
            return self.derived(super().Split(color, key), f"split({color})")

    def Split_type(self, split_type, key=0, info=mpi.INFO_NULL) -> Counted:
        """The communicator of the ranks on this rank's node."""
        with self.noted("Split_type", f"key={key}"):
            return self.derived(super().Split_type(split_type, key, info), "node")

    def Dup(self, info=None) -> Counted:
        """The same ranks, with messages of their own."""
        with self.noted("Dup"):
            return self.derived(super().Dup(info), "dup")

    def Create_cart(self, dims, periods=None, reorder=False) -> CountingCart:
        """The first ranks as a grid."""
        with self.noted("Create_cart", f"dims={list(dims)}"):
            return self.derived(super().Create_cart(dims, periods, reorder), "cart")

    def Free(self) -> None:
        """Give the communicator up; what has been begun on it will be noted all the same."""
        self.logbook.calls["Free"] += 1
        self._world_ranks  # noqa: B018  # requests ask for it later
        super().Free()

    def Recv(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> None:
        """Receive a message into a buffer."""
        status = mpi.Status() if status is None else status
        with self.noted("Recv", spelling.arguments(source, tag)) as start:
            super().Recv(buf, source, tag, status)
        self.received(status, start)

    def recv(self, buf=None, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> Any:
        """Receive an object."""
        status = mpi.Status() if status is None else status
        with self.noted("recv", spelling.arguments(source, tag)) as start:
            message = super().recv(buf, source, tag, status)
        self.received(status, start)
        return message

    def Sendrecv(
        self, sendbuf, dest, sendtag=0, recvbuf=None, source=mpi.ANY_SOURCE, recvtag=mpi.ANY_TAG, status=None
    ) -> None:
        """Send one message and receive another."""
        status = mpi.Status() if status is None else status
        with self.noted("Sendrecv", _both(dest, sendtag, source, recvtag)) as start:
            super().Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
        self.sent(_size(sendbuf), dest, start)
        self.received(status, start)

    def sendrecv(
        self, sendobj, dest, sendtag=0, recvbuf=None, source=mpi.ANY_SOURCE, recvtag=mpi.ANY_TAG, status=None
    ) -> Any:
        """Send one object and receive another."""
        status, data = mpi.Status() if status is None else status, _pickled(sendobj)
        with self.noted("sendrecv", _both(dest, sendtag, source, recvtag)) as start:
            request = super().Isend(data, dest, sendtag)
            message = super().recv(recvbuf, source, recvtag, status)
            request.Wait()
        self.sent(_size(data), dest, start)
        self.received(status, start)
        return message


class CountingComm(Counted, mpi.Intracomm):
    """mpi4py's Intracomm, noted by its `logbook`."""


class CountingCart(Counted, mpi.Cartcomm):
    """mpi4py's Cartcomm, noted by its `logbook`."""

    def Sub(self, remain_dims) -> CountingCart:
        """The grid of the dimensions that remain."""
        with self.noted("Sub", f"remain_dims={list(remain_dims)}"):
            return self.derived(super().Sub(remain_dims), "sub")


class CountingRequest(mpi.Request):
    """A request that notes its completion; `what` says what it is for, `kind` is send, recv or empty (a collective)."""

    def __new__(cls, request: mpi.Request, *_):
        return super().__new__(cls, request)

    def __init__(self, request: mpi.Request, comm: Counted, what: str, start: float, kind="", peer=-1, nbytes=0):
        self.comm, self.what, self.start, self.kind, self.peer, self.nbytes = comm, what, start, kind, peer, nbytes
        comm.logbook.active[id(self)] = self

    def Wait(self, status=None) -> Literal[True]:
        """Wait until the request is complete, and leave the core to others meanwhile (mpi.wait)."""
        status = mpi.Status() if status is None else status
        with _waiting("Wait", [self]):
            mpi.poll(partial(mpi.Request.Test, self, status))
        _completed(self, status)
        return True

    def wait(self, status=None) -> Any:
        """Wait, and return the object that came (None for a send)."""
        status = mpi.Status() if status is None else status
        with _waiting("wait", [self]):
            message = super().wait(status)
        _completed(self, status)
        return message

    @classmethod
    def Waitall(cls, requests, statuses=None) -> Literal[True]:
        """Wait until all of the requests are complete."""
        filled = [mpi.Status() for _ in requests] if statuses is None else statuses
        with _waiting("Waitall", requests):
            done = super().Waitall(requests, filled)
        for request, status in zip(requests, filled, strict=True):
            _completed(request, status)
        return done

    @classmethod
    def Waitany(cls, requests, status=None) -> int:
        """Wait until one of the requests is complete; its index, UNDEFINED if none is active."""
        status = mpi.Status() if status is None else status
        with _waiting("Waitany", requests):
            index = mpi.poll_any(requests, status)
        if index != mpi.UNDEFINED:
            _completed(requests[index], status)
        return index


def _completed(request: mpi.Request, status: mpi.Status) -> None:
    """Note that the request is complete (once; a request of MPI's own is none of ours)."""
    if isinstance(request, CountingRequest) and request.comm.logbook.active.pop(id(request), None) is not None:
        if request.kind == "recv":
            request.comm.received(status, request.start)
        elif request.kind == "send":
            request.comm.logbook.moved("send", request.start, request.peer, request.nbytes, request.comm.name)


@contextmanager
def _waiting(name: str, requests) -> Iterator[None]:
    ours = [request for request in requests if isinstance(request, CountingRequest)]
    what = list(dict.fromkeys(request.what for request in ours))
    arguments = ", ".join(what[:4]) + (", ..." if len(what) > 4 else "")
    with ours[0].comm.noted(name, arguments) as start:
        yield
    ours[0].comm.logbook.waited(start, ours[0].comm.name, name)


def _both(dest: int, sendtag: int, source: int, recvtag: int) -> str:
    return f"dest={dest}, sendtag={sendtag}, {spelling.arguments(source, recvtag)}"


def _size(buf: Any) -> int:
    """Bytes of a buffer as mpi4py takes it; with PROC_NULL it may be None."""
    if buf is None:
        return 0
    return buf.nbytes if hasattr(buf, "nbytes") else as_buffer(buf).raw.size


def _pickled(obj: Any) -> list:
    """The message that mpi4py's lower-case calls make of an object."""
    return [mpi.pickle.dumps(obj), mpi.BYTE]


# The calls that are noted in the same way ------------------------------------------------------------------------


def _send(name: str, upper: str, prepare: Callable) -> Callable:
    inner = getattr(mpi.Intracomm, upper)

    def method(self, buf, dest, tag=0):
        data = prepare(buf)
        with self.noted(name, f"dest={dest}, tag={tag}") as start:
            inner(self, data, dest, tag)
        self.sent(_size(data), dest, start)

    return method


def _isend(name: str, upper: str, prepare: Callable) -> Callable:
    inner = getattr(mpi.Intracomm, upper)

    def method(self, buf, dest, tag=0):
        data, shown = prepare(buf), f"dest={dest}, tag={tag}"
        with self.noted(name, shown) as start:
            request = inner(self, data, dest, tag)
        self.sent(_size(data), dest)
        kind = "" if dest == mpi.PROC_NULL else "send"
        return CountingRequest(request, self, f"{name}({shown})", start, kind, self.peer(dest), _size(data))

    return method


def _irecv(name: str) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, buf=None, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG):
        shown = spelling.arguments(source, tag)
        with self.noted(name, shown) as start:
            request = inner(self, buf, source, tag)
        return CountingRequest(request, self, f"{name}({shown})", start, "recv")

    return method


def _collective(name: str, nonblocking: bool = False) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, *args, **kwargs):
        shown = spelling.spelled({key: value for key, value in kwargs.items() if type(value) is int})
        with self.noted(name, shown) as start:
            result = inner(self, *args, **kwargs)
        if nonblocking:
            return CountingRequest(result, self, f"{name}({shown})", start)
        self.logbook.waited(start, self._name, name)
        return result

    return method


def _count(name: str) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, *args, **kwargs):
        self.logbook.calls[name] += 1
        return inner(self, *args, **kwargs)

    return method


def _test(name: str) -> Callable:
    def method(self, status=None):
        status = mpi.Status() if status is None else status
        self.comm.logbook.calls[name] += 1
        result = getattr(mpi.Request, name)(self, status)
        if result is True or (isinstance(result, tuple) and result[0]):
            _completed(self, status)
        return result

    return method


def _install(owner: type, names: str, make: Callable, inner: type = mpi.Intracomm) -> None:
    for name in names.split():
        setattr(owner, name, wraps(getattr(inner, name))(make(name)))


_install(Counted, "Send Ssend", lambda name: _send(name, name, lambda buf: buf))
_install(Counted, "send ssend", lambda name: _send(name, name.capitalize(), _pickled))
_install(Counted, "Isend Issend", lambda name: _isend(name, name, lambda buf: buf))
_install(Counted, "isend issend", lambda name: _isend(name, name.capitalize(), _pickled))
_install(Counted, "Irecv irecv", _irecv)
_install(Counted, "Probe probe barrier bcast reduce allreduce allgather scatter gather alltoall", _collective)
_install(Counted, mpi.API["collectives"], _collective)
_install(Counted, mpi.API["nonblocking collectives"], lambda name: _collective(name, nonblocking=True))
_install(Counted, "Iprobe iprobe", _count)
_install(CountingRequest, "Test test", _test, mpi.Request)
