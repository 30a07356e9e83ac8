"""mpi4py's Request, on the virtual cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import mpi
from .. import spelling
from ..buffers import Buffer
from ..errors import BufferChanged
from . import report
from .completion import Completion


class VirtualRequest:
    """mpi4py's Request on the virtual cluster.

    Until it is complete, the program must leave its buffer alone: MPI reads or writes it at any moment. So a copy is
    kept and compared in the end (`watched`, the buffer), which catches every change in between. Collectives and
    one-sided calls, which may have several buffers, know by themselves (Completion.changed).

    Once the program knows that it is complete, it is false and equal to REQUEST_NULL.
    """

    def __init__(self, comm: Any, completion: Completion, watched: Buffer | None = None):
        self._comm, self._completion = comm, completion
        self._watched, self._before = watched, None if watched is None else watched.now().copy()
        comm._me.requests.add(self)

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

    def _wait(self, name: str, status: mpi.Status | None) -> Any:
        if self._completion is None:
            return None
        comm, completion = self._comm, self._completion
        comm.note(name, spelling.posted, completion)
        comm._engine.wait(comm._me, [completion])
        return self._take(status)

    def _test(self, name: str, status: mpi.Status | None) -> tuple[bool, Any]:
        if self._completion is None:
            return True, None
        comm, completion = self._comm, self._completion
        comm.note(name, spelling.posted, completion)
        comm._engine.poll(comm._me, completion.done_at)
        done = completion.done_at is not None and completion.done_at <= comm._me.clock
        comm._engine.polled(comm._me, done)
        if not done:
            return False, None
        return True, self._take(status)

    def _take(self, status: mpi.Status | None) -> Any:
        """The program learns that the request is complete."""
        completion, self._completion = self._completion, None
        self._comm._me.requests.discard(self)
        changed = self._watched is not None and not np.array_equal(self._watched.now(), self._before)
        if changed or completion.changed():
            self._comm.refuse(BufferChanged, report.changed_cause(completion))
        return self._comm._finish(completion, status)

    @staticmethod
    def Waitall(requests: Sequence[VirtualRequest], statuses=None) -> bool:
        """Wait until all are complete; what mpi.waitall calls."""
        active = [request for request in requests if request._completion is not None]
        if active:
            comm = active[0]._comm
            comm.note("Waitall", spelling.plainly, f"{len(active)} requests")
            comm._engine.wait(comm._me, [request._completion for request in active])
        for number, request in enumerate(requests):
            if request._completion is not None:
                request._take(statuses[number] if statuses else None)
        return True

    @staticmethod
    def Waitany(requests: Sequence[VirtualRequest], status=None) -> int:
        """Wait until one is complete and return its index; what mpi.waitany calls."""
        active = [number for number, request in enumerate(requests) if request._completion is not None]
        if not active:
            return mpi.UNDEFINED
        comm = requests[active[0]]._comm
        comm.note("Waitany", spelling.plainly, f"{len(active)} requests")
        comm._engine.wait(comm._me, [requests[number]._completion for number in active], any_one=True)
        known = [number for number in active if requests[number]._completion.done_at is not None]
        first = min(known, key=lambda number: requests[number]._completion.done_at)
        requests[first]._take(status)
        return first
