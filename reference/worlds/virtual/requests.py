"""mpi4py's Request and Prequest, on the virtual cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import mpi
from .. import spelling
from ..buffers import Buffer
from ..errors import BufferChanged
from . import report
from .completion import Completion, Request
from .failing import check_sender, raise_failed, raise_open, take_some_failed


class VirtualRequest:
    """mpi4py's Request on the virtual cluster. When the program has learned that it is complete, it is REQUEST_NULL.

    Until it is complete, the program must leave its buffer alone: MPI reads or writes it at any moment. So a copy is
    kept and compared in the end (`watched`), which catches every change in between. Collectives and one-sided calls,
    which may have several buffers, know by themselves (Completion.changed).
    """

    def __init__(self, comm: Any = None, completion: Completion | None = None, watched: Buffer | None = None):
        self._comm, self._watched = comm, watched
        self._begin(completion)

    def _begin(self, completion: Completion | None) -> None:
        self._completion = completion
        if completion is not None:
            self._before = None if self._watched is None else self._watched.now().tobytes()
            self._comm._me.requests[self] = None

    def __bool__(self) -> bool:
        return self._completion is not None

    def __eq__(self, other: object) -> bool:
        null = isinstance(other, VirtualRequest | mpi.Request) and not other
        return self is other or (null and not self)

    __hash__ = object.__hash__

    def Wait(self, status=None) -> bool:
        """Wait until the request is complete."""
        self._wait("Wait", status)
        return True

    def wait(self, status=None) -> Any:
        """Wait, and return the object that came (None for a send)."""
        return self._wait("wait", status)

    def Test(self, status=None) -> bool:
        """Whether the request is complete. Asking takes time too."""
        return self._test("Test", status)[0]

    def test(self, status=None) -> tuple[bool, Any]:
        """Whether the request is complete, and the object that came."""
        return self._test("test", status)

    def Get_status(self, status=None) -> bool:
        """Whether the request is complete, without giving it up."""
        if self._completion is None:
            forget(status)
            return True
        self._comm.note("Get_status", spelling.posted, self._completion)
        self._comm._engine.poll(self._comm._me, self._completion.done_at)
        done = self._done()
        self._comm._engine.polled(self._comm._me, done)
        if done:
            self._comm.tell(self._completion, status)
        return done

    get_status = Get_status

    def Cancel(self) -> None:
        """Give up a message that has not met its counterpart yet: it is complete then, and its Status says so."""
        comm, completion = self._comm, self._completion
        if completion is None:
            raise mpi.Exception(mpi.ERR_REQUEST)
        comm.note("Cancel", spelling.posted, completion)
        if isinstance(completion, Request):
            cancel = comm._engine.messages.cancel
            comm._engine.post(comm._me.clock, comm._me.index, lambda now: cancel(now, completion))

    cancel = Cancel

    def Free(self) -> None:
        """Give the request up without waiting. What has been begun goes on; its end cannot be noticed any more."""
        completion, self._completion = self._completion, None
        if completion is None:
            raise mpi.Exception(mpi.ERR_REQUEST)
        self._comm.note("Request.Free", spelling.posted, completion)
        self._comm._me.requests.pop(self, None)
        if isinstance(completion, Request):
            completion.take_delivery()
            completion.blocking = completion.buffer is not None and completion.buffer.scattered is None

    def _wait(self, name: str, status: mpi.Status | None) -> Any:
        if self._completion is None:
            return forget(status)
        comm, completion = self._comm, self._completion
        comm.note(name, spelling.posted, completion)
        comm._engine.wait(comm._me, [completion])
        if comm._engine.errors:
            self._still_open()
        return self._take(status)

    def _test(self, name: str, status: mpi.Status | None) -> tuple[bool, Any]:
        if self._completion is None:
            return True, forget(status)
        comm, completion = self._comm, self._completion
        comm.note(name, spelling.posted, completion)
        comm._engine.poll(comm._me, completion.done_at)
        done = self._done()
        comm._engine.polled(comm._me, done)
        if not done:
            if comm._me.failed:
                check_sender(comm._engine, comm._me, completion)
            return False, None
        return True, self._take(status)

    def _still_open(self) -> None:
        """Raise why the wait for it is over although it is not complete, and may still be: ERR_PROC_FAILED_PENDING."""
        if self._completion.done_at is None:
            raise_open(self._comm._engine, [self._completion])

    def _done(self) -> bool:
        """Whether it is complete at this rank's clock."""
        done_at = self._completion.done_at
        return done_at is not None and done_at <= self._comm._me.clock

    def _take(self, status: mpi.Status | None) -> Any:
        """The program learns that the request is complete."""
        completion, self._completion = self._completion, None
        self._comm._me.requests.pop(self, None)
        changed = self._watched is not None and self._watched.now().tobytes() != self._before
        if changed or completion.changed():
            self._comm.refuse(BufferChanged, report.changed_cause(completion))
        if self._comm._engine.errors:
            raise_failed(self._comm._engine, [completion])
        return self._comm._finish(completion, status)

    # Lists of requests: what mpi.waitall and the others call ---------------------------------------------------

    @staticmethod
    def Waitall(requests: Sequence[VirtualRequest], statuses=None) -> bool:
        """Wait until all are complete."""
        active = [request for request in requests if request._completion is not None]
        if active:
            comm = active[0]._comm
            comm.note("Waitall", spelling.plainly, f"{len(active)} requests")
            comm._engine.wait(comm._me, [request._completion for request in active])
        _take_all(requests, statuses)
        return True

    @staticmethod
    def Waitany(requests: Sequence[VirtualRequest], status=None) -> int:
        """Wait until one is complete and return its index; UNDEFINED if none is active."""
        active = _active(requests)
        if not active:
            forget(status)
            return mpi.UNDEFINED
        _wait_for_one("Waitany", requests, active)
        known = [number for number in active if requests[number]._completion.done_at is not None]
        if not known:
            raise_open(requests[active[0]]._comm._engine, [requests[number]._completion for number in active])
        first = min(known, key=lambda number: requests[number]._completion.done_at)
        requests[first]._take(status)
        return first

    @staticmethod
    def Testall(requests: Sequence[VirtualRequest], statuses=None) -> bool:
        """Whether all are complete."""
        active = _active(requests)
        times = [requests[number]._completion.done_at for number in active]
        done = _poll("Testall", requests, active, None if None in times else max(times, default=0.0))
        if done != active:
            return False
        _take_all(requests, statuses)
        return True

    @staticmethod
    def Testany(requests: Sequence[VirtualRequest], status=None) -> tuple[int, bool]:
        """(index of one that is complete, True), or (UNDEFINED, whether none is active)."""
        active = _active(requests)
        done = _poll("Testany", requests, active, _soonest(requests, active))
        if not done:
            if not active:
                forget(status)
            return mpi.UNDEFINED, not active
        requests[done[0]]._take(status)
        return done[0], True

    @staticmethod
    def Waitsome(requests: Sequence[VirtualRequest], statuses=None) -> list[int] | None:
        """Wait until at least one is complete; the indices of all that are, None if none is active."""
        active = _active(requests)
        if not active:
            return None
        _wait_for_one("Waitsome", requests, active)
        return _take_some(requests, [number for number in active if requests[number]._done()], statuses)

    @staticmethod
    def Testsome(requests: Sequence[VirtualRequest], statuses=None) -> list[int] | None:
        """The indices of all that are complete, None if none is active."""
        active = _active(requests)
        done = _poll("Testsome", requests, active, _soonest(requests, active))
        return _take_some(requests, done, statuses) if active else None


class VirtualPrequest(VirtualRequest):
    """A persistent request: a message that is sent or received each time it is started."""

    def __init__(self, comm: Any = None, call: Any = None, begin: Any = None, watched: Buffer | None = None):
        super().__init__(comm, None, watched)
        self._call, self._start, self._freed = call, begin, comm is None

    def __bool__(self) -> bool:
        return not self._freed

    def Start(self) -> None:
        """Begin once more; what was begun before must be complete."""
        if self._freed or self._completion is not None:
            raise mpi.Exception(mpi.ERR_REQUEST)
        self._comm.note("Start", spelling.plainly, str(self._call))
        self._begin(self._start())

    @staticmethod
    def Startall(requests: Sequence[VirtualPrequest]) -> None:
        """Begin all of them."""
        for request in requests:
            request.Start()

    def Free(self) -> None:
        """Give the request up."""
        if self._freed:
            raise mpi.Exception(mpi.ERR_REQUEST)
        self._freed = True
        if self._completion is not None:
            super().Free()


def forget(status: mpi.Status | None) -> None:
    """The status of what is not active: nobody, nothing."""
    if status is not None:
        status.source, status.tag, status.error = mpi.ANY_SOURCE, mpi.ANY_TAG, 0
        status.nbytes, status.dropped = 0, False


def _active(requests: Sequence[VirtualRequest]) -> list[int]:
    return [number for number, request in enumerate(requests) if request._completion is not None]


def _soonest(requests: Sequence[VirtualRequest], active: list[int]) -> float | None:
    times = [requests[number]._completion.done_at for number in active]
    return min((time for time in times if time is not None), default=None)


def _wait_for_one(name: str, requests: Sequence[VirtualRequest], active: list[int]) -> None:
    comm = requests[active[0]]._comm
    comm.note(name, spelling.plainly, f"{len(active)} requests")
    comm._engine.wait(comm._me, [requests[number]._completion for number in active], any_one=True)


def _poll(name: str, requests: Sequence[VirtualRequest], active: list[int], known: float | None) -> list[int]:
    """Ask once; the indices of those that are complete."""
    if not active:
        return []
    comm = requests[active[0]]._comm
    comm.note(name, spelling.plainly, f"{len(active)} requests")
    comm._engine.poll(comm._me, known)
    done = [number for number in active if requests[number]._done()]
    comm._engine.polled(comm._me, bool(done))
    return done


def _statuses(statuses: Any, number: int) -> list:
    """As many as there are requests; a list is made longer, as mpi4py does."""
    if isinstance(statuses, list):
        statuses.extend(mpi.Status() for _ in range(number - len(statuses)))
        return statuses
    return [*(statuses or ()), *[None] * number][:number]


def _take_all(requests: Sequence[VirtualRequest], statuses: Any) -> None:
    comm = next((request._comm for request in requests if request._completion is not None), None)
    if comm is not None and comm._engine.errors:
        return take_some_failed(requests, _statuses(statuses, len(requests)), comm._engine.errors)
    for request, status in zip(requests, _statuses(statuses, len(requests)), strict=False):
        if request._completion is None:
            forget(status)
        else:
            request._take(status)


def _take_some(requests: Sequence[VirtualRequest], done: list[int], statuses: Any) -> list[int]:
    for number, status in zip(done, _statuses(statuses, len(done)), strict=False):
        requests[number]._take(status)
    return done
