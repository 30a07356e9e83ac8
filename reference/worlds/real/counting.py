"""The calls of real communicators that are noted in the same way, made from mpi4py's own and put into `Counted`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ... import mpi
from .. import spelling
from .checking import check_collective, sent_bytes
from .communicator import KEPT, Counted, pickled
from .requests import CountingMessage, CountingPrequest, CountingRequest

__all__ = ["KEPT", "Counted"]


def _send(name: str, upper: str, prepare: Callable) -> Callable:
    inner = getattr(mpi.Intracomm, upper)

    def method(self, buf, dest, tag=0):
        data = prepare(buf)
        nbytes = sent_bytes(data, dest)
        with self.noted(name, f"dest={dest}, tag={tag}") as start:
            inner(self, data, dest, tag)
        self.sent(nbytes, dest, start)

    return method


def _isend(name: str, upper: str, prepare: Callable) -> Callable:
    inner = getattr(mpi.Intracomm, upper)

    def method(self, buf, dest, tag=0):
        data, shown = prepare(buf), f"dest={dest}, tag={tag}"
        nbytes = sent_bytes(data, dest)
        with self.noted(name, shown) as start:
            request = inner(self, data, dest, tag)
        self.sent(nbytes, dest)
        kind = "" if dest == mpi.PROC_NULL else "send"
        return CountingRequest(request, self, f"{name}({shown})", start, kind, self.peer(dest), nbytes)

    return method


def _irecv(name: str) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, buf=None, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG):
        if name == "Irecv":
            sent_bytes(buf, source, writable=True)
        shown = spelling.arguments(source, tag)
        with self.noted(name, shown) as start:
            request = inner(self, buf, source, tag)
        return CountingRequest(request, self, f"{name}({shown})", start, "recv")

    return method


def _persistent(name: str) -> Callable:
    inner, sending = getattr(mpi.Intracomm, name), "S" in name[:2]

    def method(self, buf, rank=mpi.ANY_SOURCE, tag=0 if sending else mpi.ANY_TAG):
        nbytes = sent_bytes(buf, rank, writable=not sending)
        shown = f"dest={rank}, tag={tag}" if sending else spelling.arguments(rank, tag)
        with self.noted(name, shown):
            request = inner(self, buf, rank, tag)
        kind = "" if rank == mpi.PROC_NULL else "send" if sending else "recv"
        peer = self.peer(rank) if sending else -1
        return CountingPrequest(request, self, f"{name}({shown})", kind, peer, nbytes)

    return method


def _matched(name: str) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None):
        with self.noted(name, spelling.arguments(source, tag)):
            message = inner(self, source, tag, status)
        return None if message is None else CountingMessage(message, self)

    return method


def _collective(name: str, nonblocking: bool = False) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, *args, **kwargs):
        check_collective(name, self, args, kwargs)
        shown = spelling.spelled({key: value for key, value in kwargs.items() if type(value) is int})
        with self.noted(name, shown) as start:
            result = inner(self, *args, **kwargs)
        if nonblocking:
            return CountingRequest(result, self, f"{name}({shown})", start)
        self.logbook.waited(start, self._name, name)
        return result

    return method


def _grouping(name: str, label: str) -> Callable:
    def method(self, *args, **kwargs):
        inner = getattr(super(Counted, self), name)
        with self.noted(name, spelling.spelled({key: value for key, value in kwargs.items() if type(value) is int})):
            return self.derived(inner(*args, **kwargs), label)

    return method


def _count(name: str) -> Callable:
    inner = getattr(mpi.Intracomm, name)

    def method(self, *args, **kwargs):
        self.logbook.calls[name] += 1
        return inner(self, *args, **kwargs)

    return method


def _install(owner: type, names: str, make: Callable, inner: type = mpi.Intracomm) -> None:
    for name in names.split():
        setattr(owner, name, wraps(getattr(inner, name))(make(name)))


LABELS = {
    "Dup": "dup", "Dup_with_info": "dup", "Clone": "dup", "Split_type": "node", "Create": "group",
    "Create_group": "group", "Create_cart": "cart", "Create_graph": "graph", "Create_dist_graph": "graph",
    "Create_dist_graph_adjacent": "graph",
}  # fmt: skip

_install(Counted, "Send Ssend Bsend Rsend", lambda name: _send(name, name, lambda buf: buf))
_install(Counted, "send ssend bsend", lambda name: _send(name, name.capitalize(), pickled))
_install(Counted, "Isend Issend Ibsend Irsend", lambda name: _isend(name, name, lambda buf: buf))
_install(Counted, "isend issend ibsend", lambda name: _isend(name, name.capitalize(), pickled))
_install(Counted, "Irecv irecv", _irecv)
_install(Counted, "Send_init Ssend_init Recv_init", _persistent)
_install(Counted, "Mprobe Improbe mprobe improbe", _matched)
_install(Counted, "Probe probe barrier bcast reduce allreduce allgather scatter gather alltoall", _collective)
_install(Counted, mpi.API["collectives"], _collective)
_install(Counted, mpi.API["nonblocking collectives"], lambda name: _collective(name, nonblocking=True))
_install(Counted, " ".join(LABELS), lambda name: _grouping(name, LABELS[name]))
_install(Counted, "Sub", lambda name: _grouping(name, "sub"), mpi.Cartcomm)
_install(Counted, "Iprobe iprobe", _count)
