"""A real communicator that keeps count: mpi4py's `Intracomm`, every call of which is noted by a `Logbook`.

MPI says neither how many bytes a program sent nor where it is stuck. Both are easy to know from above: `CountingComm`
is a subclass of mpi4py's communicator, so a program cannot tell the difference, and each call notes what it is (for the
roll call, should it never return), when it started and ended (for the timeline), and what it sent. What a program gives
to a call is read before anything is sent (buffers.py), so what is wrong with it is told at the call, as in the other
world, and never afterwards.

What can be counted is what the program itself sends with point-to-point calls. What a collective call of the MPI
library sends inside remains the library's secret; on the virtual cluster it is counted too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ... import mpi
from .. import spelling
from .checking import sent_bytes
from .logbook import Logbook, clock
from .requests import CountingRequest

_Communicator: Any = object  # to a type checker one of mpi4py's, which stands behind it wherever it is mixed in
KEPT = 200  # communicators that a program has freed and that are kept all the same (Free)


class Counted(_Communicator):
    """What is added to mpi4py's communicators: a `logbook`, a name that is remembered, and calls that are noted."""

    logbook: Logbook
    _name = ""

    @classmethod
    def over(cls, comm: mpi.Comm, logbook: Logbook, name: str = "") -> Any:
        """The same communicator, noted by `logbook`; COMM_NULL stays as it is."""
        if comm == mpi.COMM_NULL:
            return comm
        counting = _counting(type(comm))(comm)
        counting.logbook, counting._name = logbook, name
        logbook.communicators += 1
        return counting

    def derived(self, comm: mpi.Comm, label: str) -> Any:
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

    @cached_property
    def _own_rank(self) -> int:
        return self.rank

    @property
    def _place(self) -> str:
        there = "" if self._own_rank == self.logbook.rank else f" (rank {self._own_rank} there)"
        return self._name + there

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

    def Idup(self, info=None) -> tuple[Counted, CountingRequest]:
        """Dup that does not wait: a communicator, to be used when the request is complete."""
        with self.noted("Idup") as start:
            comm, request = super().Idup(info)
        return self.derived(comm, "dup"), CountingRequest(request, self, "Idup()", start)

    def Idup_with_info(self, info) -> tuple[Counted, CountingRequest]:
        """Idup that minds the hints."""
        with self.noted("Idup_with_info") as start:
            comm, request = super().Idup_with_info(info)
        return self.derived(comm, "dup"), CountingRequest(request, self, "Idup_with_info()", start)

    def __reduce__(self) -> Any:
        raise ValueError("a communicator cannot be sent or stored: its messages are those of this launch")

    def Free(self) -> None:
        """Give the communicator up.

        MPI itself keeps it: the next program's communicator would get its number, and with that the messages which
        this program may have left behind. A program that frees very many really does, and is the job's last one.
        """
        self.logbook.calls["Free"] += 1
        _ = self._place, self._world_ranks  # open requests still ask for them
        if self.logbook.freed < KEPT:
            mpi.abandon(self)
        else:
            super().Free()
        self.logbook.freed += 1

    def Abort(self, errorcode: int = 0) -> None:
        """End the launch, on all ranks at once, and with it the job."""
        with self.noted("Abort", f"errorcode={errorcode}"):
            super().Abort(errorcode)

    def Recv(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> None:
        """Receive a message into a buffer."""
        sent_bytes(buf, source, writable=True)
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
        nbytes = sent_bytes(sendbuf, dest)
        sent_bytes(recvbuf, source, writable=True)
        status = mpi.Status() if status is None else status
        with self.noted("Sendrecv", _both(dest, sendtag, source, recvtag)) as start:
            super().Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
        self.sent(nbytes, dest, start)
        self.received(status, start)

    def sendrecv(
        self, sendobj, dest, sendtag=0, recvbuf=None, source=mpi.ANY_SOURCE, recvtag=mpi.ANY_TAG, status=None
    ) -> Any:
        """Send one object and receive another."""
        status, data = mpi.Status() if status is None else status, pickled(sendobj)
        with self.noted("sendrecv", _both(dest, sendtag, source, recvtag)) as start:
            request = super().Isend(data, dest, sendtag)
            message = super().recv(recvbuf, source, recvtag, status)
            request.Wait()
        self.sent(len(data[0]), dest, start)
        self.received(status, start)
        return message


_kinds: dict[str, type] = {}  # the classes of noted communicators, by the names of mpi4py's: Intracomm, Cartcomm, ...


def _counting(kind: type) -> type:
    if issubclass(kind, Counted):
        return kind
    if kind.__name__ not in _kinds:
        _kinds[kind.__name__] = type(f"Counting{kind.__name__}", (Counted, kind), {})
    return _kinds[kind.__name__]


def _both(dest: int, sendtag: int, source: int, recvtag: int) -> str:
    return f"dest={dest}, sendtag={sendtag}, {spelling.arguments(source, recvtag)}"


def pickled(obj: Any) -> list:
    """The message that mpi4py's lower-case calls make of an object."""
    return [mpi.pickle.dumps(obj), mpi.BYTE]
