"""The calls of a window that access another rank's memory, and the transfers that they take.

A transfer costs alpha + n beta and holds ports and links like any other. Its data is read and written when it has
arrived, all at one moment, so an Accumulate is atomic. (MPI promises that for each element only, and nothing at all
for a Put and a Get of the same memory at the same time.) What also brings back the old value (Get_accumulate,
Fetch_and_op, Compare_and_swap) is a transfer there and one back; with NO_OP only the one back, as a Get.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import mpi
from .. import spelling
from ..buffers import NOTHING, Buffer, as_contiguous
from .accesses import Access, Leg, Pair, alike, as_target, combiner, fits, piece, single
from .epochs import Epochs, refused
from .requests import VirtualRequest


class OneSided:
    """A window's half that accesses memory: `memories` are those of all ranks (bytes).

    A `target` is None, a displacement in units of `disp_unit` bytes, (displacement, count) or (displacement, count,
    type). What begins with R returns a request, for epochs of Lock and Lock_all.
    """

    def __init__(self, comm: Any, memories: list[np.ndarray], disp_unit: int):
        self._comm, self._memories, self._unit, self._freed = comm, memories, disp_unit, False
        self._epochs = Epochs(comm.size)
        self._pending: dict[int, list[Access]] = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise mpi.NotOffered(f"{name} is not one of the calls of windows that are offered (reference.mpi.API)")

    def __bool__(self) -> bool:
        return not self._freed

    def _enter(self, name: str, arguments: str = "") -> None:
        self._comm._enter(name, spelling.plainly, arguments)
        if self._freed:
            raise refused(mpi.ERR_WIN, "this window has been given up by Free")

    def Put(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Begin to write `origin` into the target's memory."""
        self._put("Put", origin, target_rank, target)

    def Rput(self, origin: Any, target_rank: int, target: Any = None) -> VirtualRequest:
        """Put; when the request is complete, `origin` may change."""
        return VirtualRequest(self._comm, self._put("Rput", origin, target_rank, target))

    def Get(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Begin to read the target's memory into `origin`."""
        self._get("Get", origin, target_rank, target)

    def Rget(self, origin: Any, target_rank: int, target: Any = None) -> VirtualRequest:
        """Get; when the request is complete, `origin` holds what came."""
        return VirtualRequest(self._comm, self._get("Rget", origin, target_rank, target))

    def Accumulate(self, origin: Any, target_rank: int, target: Any = None, op: Any = mpi.SUM) -> None:
        """Begin to combine `origin` into the target's memory; REPLACE: an atomic Put."""
        self._accumulate("Accumulate", origin, target_rank, target, op)

    def Raccumulate(self, origin: Any, target_rank: int, target: Any = None, op: Any = mpi.SUM) -> VirtualRequest:
        """Accumulate; when the request is complete, `origin` may change."""
        return VirtualRequest(self._comm, self._accumulate("Raccumulate", origin, target_rank, target, op))

    def Get_accumulate(self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Any = mpi.SUM) -> None:
        """Begin to read what is there into `result` and to combine `origin` into it, with nobody in between.

        `origin` and `result` have the same size and type. With NO_OP it is an atomic Get, with REPLACE an exchange.
        """
        self._fetch("Get_accumulate", origin, result, target_rank, target, op)

    def Rget_accumulate(
        self, origin: Any, result: Any, target_rank: int, target: Any = None, op: Any = mpi.SUM
    ) -> VirtualRequest:
        """Get_accumulate; when the request is complete, `result` holds what came."""
        return VirtualRequest(self._comm, self._fetch("Rget_accumulate", origin, result, target_rank, target, op))

    def Fetch_and_op(self, origin: Any, result: Any, target_rank: int, target_disp: int = 0, op: Any = mpi.SUM) -> None:
        """Get_accumulate of one element, which the hardware may do faster: a shared counter, for example."""
        if target_rank != mpi.PROC_NULL:
            single("origin", as_contiguous(origin))
        self._fetch("Fetch_and_op", origin, result, target_rank, target_disp, op)

    def Compare_and_swap(self, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0) -> None:
        """Begin to read one integer of the target into `result`, and to replace it by `origin` if it is `compare`."""
        if target_rank == mpi.PROC_NULL:
            self._open("Compare_and_swap", NOTHING, target_rank, target_disp)
            return
        data, expected = single("origin", as_contiguous(origin)), single("compare", as_contiguous(compare))
        alike("compare", data, expected)
        if np.dtype(data.dtype).kind not in "biu":
            raise mpi.Exception(mpi.ERR_TYPE)
        new, old = data.raw.copy(), expected.raw.copy()

        def swap(there: np.ndarray) -> None:
            if np.array_equal(there, old):
                there[:] = new

        watched = [(data.raw, new), (expected.raw, old)]
        name = "Compare_and_swap"
        self._there_and_back(name, data, result, target_rank, target_disp, 2 * data.raw.size, swap, watched)

    def _put(self, name: str, origin: Any, rank: int, target: Any) -> Access:
        data = _read(origin, rank)
        there, sent = self._open(name, data, rank, target), data.raw.copy()
        nbytes = fits(sent.size, there.size)

        def arrive() -> None:
            there[:nbytes] = sent

        return self._begin(rank, [(data.raw, sent)], [], Leg(True, nbytes, arrive))

    def _get(self, name: str, origin: Any, rank: int, target: Any) -> Access:
        data = _read(origin, rank, writable=True)
        there = self._open(name, data, rank, target)
        nbytes = fits(there.size, data.raw.size)
        came = np.empty_like(there)
        watched, into = (data.raw, data.raw.copy()), (data.raw[:nbytes], came)
        return self._begin(rank, [watched], [into], Leg(False, nbytes, lambda: np.copyto(came, there)))

    def _accumulate(self, name: str, origin: Any, rank: int, target: Any, op: Any) -> Access:
        data = _read(origin, rank)
        there, combine = self._open(name, data, rank, target), combiner(data, op)
        nbytes = fits(data.raw.size, there.size)
        watched = [(data.raw, data.raw.copy())]
        return self._begin(rank, watched, [], Leg(True, nbytes, lambda: combine(there[:nbytes])))

    def _fetch(self, name: str, origin: Any, result: Any, rank: int, target: Any, op: Any) -> Access:
        data = _read(origin, rank)
        nbytes = 0 if op == mpi.NO_OP else data.raw.size
        watched = [(data.raw, data.raw.copy())] if nbytes else []
        return self._there_and_back(name, data, result, rank, target, nbytes, combiner(data, op), watched)

    def _there_and_back(
        self, name: str, data: Buffer, result: Any, rank: int, target: Any, nbytes: int, change: Callable, watched: list
    ) -> Access:
        """Send `nbytes` to the target, do change(there) on arrival, and bring what was there before into `result`."""
        into = _read(result, rank, writable=True)
        alike("result", data, into)
        if nbytes and np.may_share_memory(data.raw, into.raw):
            raise refused(mpi.ERR_BUFFER, "origin and result share memory")
        there = self._open(name, data, rank, target)
        fits(data.raw.size, there.size)
        old = np.empty_like(there)

        def arrive() -> None:
            old[:] = there
            change(there)

        legs = [Leg(True, nbytes, arrive), Leg(False, old.size, lambda: None)]
        if not nbytes:
            legs = [Leg(False, old.size, arrive)]
        return self._begin(rank, [*watched, (into.raw, into.raw.copy())], [(into.raw, old)], *legs)

    def _open(self, name: str, data: Buffer, rank: int, target: Any) -> np.ndarray:
        """The piece of the target's memory that is meant, if this rank may access it now; for PROC_NULL none."""
        shown = spelling.shown(target)
        self._enter(name, f"target_rank={rank}, target={shown}, {spelling.amount(data)}")
        self._epochs.check_rank(rank)
        if rank == mpi.PROC_NULL:
            return NOTHING.raw
        there = piece(self._memories[rank], self._unit, as_target(target, data), data)
        self._epochs.hold(rank) if name.startswith("R") else self._epochs.access(rank)
        return there

    def _begin(self, target: int, watched: list[Pair], into: list[Pair], *legs: Leg) -> Access:
        """Begin a transfer between this rank and the target, or several, each when the one before has arrived."""
        comm, engine, me = self._comm, self._comm._engine, self._comm._me
        access = Access(me, watched, into)
        if target == mpi.PROC_NULL:
            access.done_at = me.clock
            return access
        self._pending[target].append(access)
        here, there = me.index, comm._context.group[target]

        def begin(time: float, leg: Leg, *more: Leg) -> None:
            def finish(time: float) -> None:
                leg.arrive()
                if more:
                    begin(time, *more)
                else:
                    access.complete(engine, time)

            source, dest = (here, there) if leg.outward else (there, here)
            engine.ranks[source].count(leg.nbytes)
            arrive = lambda end, _: engine.post(end, here, finish)  # noqa: E731
            engine.messages.carry(time, source, dest, leg.nbytes, comm.name, arrive)

        engine.post(me.clock, here, lambda time: begin(time, *legs))
        return access


def _read(buf: Any, rank: int, writable: bool = False) -> Buffer:
    """The buffer of an access; nobody's (PROC_NULL) is not looked at."""
    return NOTHING if rank == mpi.PROC_NULL else as_contiguous(buf, writable)
