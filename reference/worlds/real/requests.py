"""mpi4py's requests and matched messages, noted by the logbook of the communicator that they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Literal

from ... import mpi
from .checking import sent_bytes
from .logbook import clock


class Noted:
    """What is added to a request: what it is for (`what`), and that its completion is noted, once.

    `kind` is send, recv or empty (a collective); `comm` is the communicator that it came from.
    """

    comm: Any
    kind: str
    what: str
    start: float
    peer: int
    nbytes: int

    def begun(self) -> None:
        """From now on it is not complete, and MPI may use its buffer."""
        self.comm.logbook.active[id(self)] = self

    def done(self, status: mpi.Status) -> None:
        """It is complete."""
        if self.comm.logbook.active.pop(id(self), None) is None:
            return
        if self.kind == "recv":
            self.comm.received(status, self.start)
        elif self.kind == "send":
            self.comm.logbook.moved("send", self.start, self.peer, self.nbytes, self.comm.name)

    def Wait(self, status=None) -> Literal[True]:
        """Wait until the request is complete, and leave the core to others meanwhile (mpi.wait)."""
        status = mpi.Status() if status is None else status
        with _waiting("Wait", [self]):
            request: Any = self
            mpi.poll(partial(mpi.Request.Test, request, status))
        self.done(status)
        return True

    def wait(self, status=None) -> Any:
        """Wait, and return the object that came (None for a send)."""
        status = mpi.Status() if status is None else status
        with _waiting("wait", [self]):
            message = super().wait(status)  # type: ignore[misc]
        self.done(status)
        return message


class CountingRequest(Noted, mpi.Request):
    """A request that notes its completion."""

    def __new__(cls, request: mpi.Request, *_):
        return super().__new__(cls, request)

    def __init__(self, request: mpi.Request, comm: Any, what: str, start: float, kind="", peer=-1, nbytes=0):
        self.comm, self.what, self.start, self.kind, self.peer, self.nbytes = comm, what, start, kind, peer, nbytes
        self.begun()

    @classmethod
    def Waitall(cls, requests, statuses=None) -> Literal[True]:
        """Wait until all of the requests are complete."""
        filled = _statuses(requests, statuses)
        with _waiting("Waitall", requests):
            super().Waitall(requests, filled)
        _all_done(requests, filled)
        return True

    @classmethod
    def Waitany(cls, requests, status=None) -> int:
        """Wait until one of the requests is complete; its index, UNDEFINED if none is active."""
        status = mpi.Status() if status is None else status
        with _waiting("Waitany", requests):
            index = mpi.poll_any(requests, status)
        if index != mpi.UNDEFINED:
            _done(requests[index], status)
        return index

    @classmethod
    def Testall(cls, requests, statuses=None) -> bool:
        """Whether all of the requests are complete."""
        filled = _statuses(requests, statuses)
        if flag := super().Testall(requests, filled):
            _all_done(requests, filled)
        return flag

    @classmethod
    def Testany(cls, requests, status=None) -> tuple[int, bool]:
        """(index of one that is complete, True), or (UNDEFINED, whether none is active)."""
        status = mpi.Status() if status is None else status
        index, flag = super().Testany(requests, status)
        if index != mpi.UNDEFINED:
            _done(requests[index], status)
        return index, flag

    @classmethod
    def Waitsome(cls, requests, statuses=None) -> list[int] | None:
        """Wait until at least one is complete; the indices of all that are, None if none is active."""
        filled = [] if statuses is None else statuses
        with _waiting("Waitsome", requests):
            return _some_done(requests, filled, super().Waitsome(requests, filled))

    @classmethod
    def Testsome(cls, requests, statuses=None) -> list[int] | None:
        """The indices of all that are complete, None if none is active."""
        filled = [] if statuses is None else statuses
        return _some_done(requests, filled, super().Testsome(requests, filled))


class CountingPrequest(Noted, mpi.Prequest):
    """A persistent request: a message that is sent or received each time it is started."""

    def __new__(cls, request: mpi.Prequest, *_):
        return super().__new__(cls, request)

    def __init__(self, request: mpi.Prequest, comm: Any, what: str, kind: str, peer: int, nbytes: int):
        self.comm, self.what, self.kind, self.peer, self.nbytes = comm, what, kind, peer, nbytes

    def _starts(self) -> None:
        self.comm.logbook.calls["Start"] += 1
        self.start = clock()
        self.begun()
        if self.kind == "send":
            self.comm.logbook.sent(self.nbytes)

    def Start(self) -> None:
        """Begin once more."""
        super().Start()
        self._starts()

    @classmethod
    def Startall(cls, requests) -> None:
        """Begin all of them."""
        super().Startall(requests)
        for request in requests:
            if isinstance(request, CountingPrequest):
                request._starts()


for _name in "Waitall Waitany Testall Testany Waitsome Testsome".split():
    setattr(CountingPrequest, _name, getattr(CountingRequest, _name))  # class calls, for lists of any kind


class CountingMessage(mpi.Message):
    """A message that a matched probe has taken: only this object can receive it."""

    def __new__(cls, message: mpi.Message, *_):
        return super().__new__(cls, message)

    def __init__(self, message: mpi.Message, comm: Any):
        self.comm = comm

    def Recv(self, buf, status=None) -> None:
        """Receive the message."""
        self._check(buf)
        status = mpi.Status() if status is None else status
        with self.comm.noted("Message.Recv") as start:
            super().Recv(buf, status)
        self.comm.received(status, start)

    def recv(self, status=None) -> Any:
        """Receive the object."""
        status = mpi.Status() if status is None else status
        with self.comm.noted("Message.recv") as start:
            message = super().recv(status)
        self.comm.received(status, start)
        return message

    def Irecv(self, buf) -> CountingRequest:
        """Begin to receive the message."""
        self._check(buf)
        with self.comm.noted("Message.Irecv") as start:
            return CountingRequest(super().Irecv(buf), self.comm, "Message.Irecv()", start, "recv")

    def irecv(self) -> CountingRequest:
        """Begin to receive the object."""
        with self.comm.noted("Message.irecv") as start:
            return CountingRequest(super().irecv(), self.comm, "Message.irecv()", start, "recv")

    def _check(self, buf: Any) -> None:
        nobody = self == mpi.MESSAGE_NO_PROC
        sent_bytes(buf, mpi.PROC_NULL if nobody else 0, writable=True)


def _done(request: mpi.Request, status: mpi.Status) -> None:
    if isinstance(request, Noted):  # a request of MPI's own is none of ours
        request.done(status)


def _statuses(requests, statuses: list | None) -> Any:
    """A list with a Status for each request, the program's own as far as it has given any."""
    filled: Any = [] if statuses is None else statuses
    if isinstance(filled, list):
        filled.extend(mpi.Status() for _ in range(len(requests) - len(filled)))
        return filled
    return [*filled, *(mpi.Status() for _ in range(len(requests) - len(filled)))]


def _all_done(requests, statuses: list[mpi.Status]) -> None:
    for request, status in zip(requests, statuses, strict=False):
        _done(request, status)


def _some_done(requests, statuses: list[mpi.Status], indices: list[int] | None) -> list[int] | None:
    for index, status in zip(indices or [], statuses, strict=False):
        _done(requests[index], status)
    return indices


@contextmanager
def _waiting(name: str, requests) -> Iterator[None]:
    ours = [request for request in requests if isinstance(request, Noted)]
    if not ours:
        yield
        return
    what = list(dict.fromkeys(request.what for request in ours))
    arguments = ", ".join(what[:4]) + (", ..." if len(what) > 4 else "")
    with ours[0].comm.noted(name, arguments) as start:
        yield
    ours[0].comm.logbook.waited(start, ours[0].comm.name, name)


def _test(name: str) -> Callable:
    def method(self, status=None):
        status = mpi.Status() if status is None else status
        self.comm.logbook.calls[name] += 1
        result = getattr(mpi.Request, name)(self, status)
        if result is True or (isinstance(result, tuple) and result[0]):
            self.done(status)
        return result

    return method


for _name in ("Test", "test"):
    setattr(Noted, _name, wraps(getattr(mpi.Request, _name))(_test(_name)))
