"""One-sided communication on the virtual cluster: memory that other ranks may read, write and add to by themselves.

This is what RDMA hardware does: the rank whose memory it is takes no part, and its clock does not move. A transfer
costs alpha + n beta and holds ports and links like any other. Its data is read and written when it has arrived, all
at one moment, so an Accumulate is atomic. (MPI promises that for each element only, and nothing at all for a Put and
a Get of the same memory at the same time.) What also brings back the old value (Get_accumulate, Fetch_and_op,
Compare_and_swap) is a transfer there and one back; with NO_OP only the one back, as a Get.

A shared window is memory of one machine: loads and stores that are no calls. Those take no time, and nobody sees them
coming, so they happen when the rank's thread executes them, which may be far ahead of the others' clocks. Sync() puts
them in order: it lets go until no rank's clock is behind.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import mpi
from ...collectives import exchange, operations
from ...collectives.rounds import Blocks, steps
from .. import spelling
from ..buffers import Buffer, as_buffer
from .completion import Completion


class Parts:
    """What all ranks of a window share: every rank's memory (bytes), and who has locked whose."""

    def __init__(self, memories: list[np.ndarray]):
        self.memories = memories
        self.holder: dict[int, int | None] = defaultdict(lambda: None)  # target -> rank with the exclusive lock
        self.queue: dict[int, deque] = defaultdict(deque)  # target -> (rank, completion) that wait for it


class Leg(NamedTuple):
    """One transfer of a one-sided call: to the target or back from it, how much, and what happens when it is there."""

    outward: bool
    nbytes: int
    arrive: Callable[[], Any]


class VirtualWindow:
    """mpi4py's Win on the virtual cluster, as seen by one rank. Displacements count in units of `disp_unit` bytes."""

    def __init__(self, comm: Any, nbytes: int, disp_unit: int):
        if nbytes < 0 or disp_unit < 1:
            raise mpi.Exception(mpi.ERR_ARG)
        self._comm, self._unit = comm, disp_unit
        self._parts = comm.meet("win_allocate", Parts(self._memories(nbytes)))[0]
        self._pending: dict[int, list[Completion]] = defaultdict(list)

    def _memories(self, nbytes: int) -> list[np.ndarray]:
        """The memory of every rank."""
        return self._comm.meet("win_allocate", np.zeros(nbytes, np.uint8))

    def tomemory(self) -> np.ndarray:
        """This rank's own memory, as bytes; np.frombuffer gives it a type."""
        return self._parts.memories[self._comm.rank]

    def Put(self, origin: Any, target_rank: int, target: int = 0) -> None:
        """Begin to write `origin` into the target's memory at displacement `target`."""
        data, there = self._open("Put", as_buffer(origin), target_rank, target)

        def arrive() -> None:
            there[:] = data.raw

        self._move(target_rank, Leg(True, data.raw.size, arrive))

    def Get(self, origin: Any, target_rank: int, target: int = 0) -> None:
        """Begin to read the target's memory at displacement `target` into `origin`."""
        data, there = self._open("Get", as_buffer(origin, writable=True), target_rank, target)

        def arrive() -> None:
            data.raw[:] = there

        self._move(target_rank, Leg(False, data.raw.size, arrive))

    def Accumulate(self, origin: Any, target_rank: int, target: int = 0, op: Any = mpi.SUM) -> None:
        """Begin to combine `origin` into the target's memory at displacement `target`; REPLACE: an atomic Put."""
        data, there = self._open("Accumulate", as_buffer(origin), target_rank, target)
        combine = _combiner(data, op)
        self._move(target_rank, Leg(True, data.raw.size, lambda: combine(there)))

    def Get_accumulate(self, origin: Any, result: Any, target_rank: int, target: int = 0, op: Any = mpi.SUM) -> None:
        """Begin to read what is there into `result` and to combine `origin` into it, with nobody in between.

        `origin` and `result` have the same size and type. With NO_OP it is an atomic Get, with REPLACE an exchange.
        """
        self._fetch("Get_accumulate", as_buffer(origin), result, target_rank, target, op)

    def Fetch_and_op(self, origin: Any, result: Any, target_rank: int, target_disp: int = 0, op: Any = mpi.SUM) -> None:
        """Get_accumulate of one element, which the hardware may do faster: a shared counter, for example."""
        self._fetch("Fetch_and_op", _single("origin", as_buffer(origin)), result, target_rank, target_disp, op)

    def Compare_and_swap(self, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0) -> None:
        """Begin to read one integer of the target into `result`, and to replace it by `origin` if it is `compare`."""
        data, expected = _single("origin", as_buffer(origin)), _single("compare", as_buffer(compare))
        _alike("compare", data, expected)
        if np.dtype(data.dtype).kind not in "biu":
            raise mpi.Exception(mpi.ERR_TYPE)

        def swap(there: np.ndarray) -> None:
            if np.array_equal(there, expected.raw):
                there[:] = data.raw

        self._there_and_back("Compare_and_swap", data, result, target_rank, target_disp, 2 * data.raw.size, swap)

    def Lock(self, rank: int, lock_type: int = mpi.LOCK_EXCLUSIVE) -> None:
        """Begin an epoch of access to one rank's memory; an exclusive one waits until nobody else has it."""
        self._enter("Lock", f"rank={rank}")
        if lock_type != mpi.LOCK_EXCLUSIVE:
            return
        turn, parts, engine, me = Completion(), self._parts, self._comm._engine, self._comm.rank

        def ask(time: float) -> None:
            if parts.holder[rank] is None:
                parts.holder[rank] = me
                turn.complete(engine, time)
            else:
                parts.queue[rank].append((me, turn))

        engine.post(self._comm.wtime(), self._comm._me.index, ask)
        engine.wait(self._comm._me, [turn])

    def Unlock(self, rank: int) -> None:
        """End the epoch: everything begun for that rank is complete; the next in the queue gets the lock."""
        self._enter("Unlock", f"rank={rank}")
        self._complete([rank])
        parts, engine = self._parts, self._comm._engine

        def release(time: float) -> None:
            parts.holder[rank], turn = parts.queue[rank].popleft() if parts.queue[rank] else (None, None)
            if turn is not None:
                turn.complete(engine, time)

        if parts.holder[rank] == self._comm.rank:
            engine.post(self._comm.wtime(), self._comm._me.index, release)

    def Lock_all(self) -> None:
        """Begin a shared epoch for all ranks."""
        self._enter("Lock_all")

    def Unlock_all(self) -> None:
        """End it: everything begun is complete."""
        self._enter("Unlock_all")
        self._complete(range(self._comm.size))

    def Flush(self, rank: int) -> None:
        """Wait until everything begun for that rank is complete, there too."""
        self._enter("Flush", f"rank={rank}")
        self._complete([rank])

    def Flush_all(self) -> None:
        """Flush every rank."""
        self._enter("Flush_all")
        self._complete(range(self._comm.size))

    def Sync(self) -> None:
        """Let go until no rank's clock is behind: direct loads and stores between two of these happen in that order.

        It costs a moment, like every question whether something has happened (Test, Iprobe).
        """
        self._enter("Sync")
        self._comm._engine.poll(self._comm._me)

    def Fence(self) -> None:
        """Wait until everything that any rank has begun is complete; called by all ranks."""
        self._enter("Fence")
        self._complete(range(self._comm.size))
        nothing = Blocks(np.empty(0, np.uint8), self._comm.size)
        rounds = exchange.dissemination_barrier_rounds(self._comm.rank, self._comm.size)
        self._comm.carry_out("Fence", {}, lambda agent: steps(agent, rounds, nothing, nothing))

    def Free(self) -> None:
        """Give the window up; called by all ranks."""
        self._enter("Free")
        self._comm.meet("Free", None)

    def _enter(self, name: str, arguments: str = "") -> None:
        self._comm._enter(name, spelling.plainly, arguments)

    def _open(self, name: str, data: Buffer, rank: int, displacement: int) -> tuple[Buffer, np.ndarray]:
        """The origin's data and the piece of the target's memory that is meant."""
        self._enter(name, f"target_rank={rank}, target={displacement}, {spelling.amount(data)}")
        if not 0 <= rank < self._comm.size:
            raise mpi.Exception(mpi.ERR_RANK)
        memory, start = self._parts.memories[rank], displacement * self._unit
        if start < 0 or start + data.raw.size > memory.size:
            raise mpi.Exception(mpi.ERR_RMA_RANGE)
        return data, memory[start : start + data.raw.size]

    def _fetch(self, name: str, data: Buffer, result: Any, rank: int, displacement: int, op: Any) -> None:
        nbytes = 0 if op == mpi.NO_OP else data.raw.size
        self._there_and_back(name, data, result, rank, displacement, nbytes, _combiner(data, op))

    def _there_and_back(
        self, name: str, data: Buffer, result: Any, rank: int, displacement: int, nbytes: int, change: Callable
    ) -> None:
        """Send `nbytes` to the target, do change(there) on arrival, and bring what was there before into `result`."""
        into = as_buffer(result, writable=True)
        _alike("result", data, into)
        data, there = self._open(name, data, rank, displacement)
        old = np.empty_like(there)

        def arrive() -> None:
            old[:] = there
            change(there)

        def arrive_back() -> None:
            into.raw[:] = old

        if nbytes:
            self._move(rank, Leg(True, nbytes, arrive), Leg(False, old.size, arrive_back))
        else:
            self._move(rank, Leg(False, old.size, lambda: (arrive(), arrive_back())))

    def _move(self, target: int, *legs: Leg) -> None:
        """Begin a transfer between this rank and the target, or several, each when the one before has arrived."""
        comm, engine, done = self._comm, self._comm._engine, Completion()
        here, there = comm._me.index, comm._context.group[target]
        self._pending[target].append(done)

        def begin(time: float, leg: Leg, *more: Leg) -> None:
            def finish(time: float) -> None:
                leg.arrive()
                if more:
                    begin(time, *more)
                else:
                    done.complete(engine, time)

            source, dest = (here, there) if leg.outward else (there, here)
            engine.count(engine.ranks[source], leg.nbytes)
            engine.post(engine.messages.reserve(time, source, dest, leg.nbytes, comm.name), here, finish)

        engine.post(comm.wtime(), here, lambda time: begin(time, *legs))

    def _complete(self, targets: Any) -> None:
        pending = [done for target in targets for done in self._pending.pop(target, [])]
        if pending:
            self._comm._engine.wait(self._comm._me, pending)


class SharedWindow(VirtualWindow):
    """A window of memory that all its ranks see: the parts of all ranks, one after the other."""

    def _memories(self, nbytes: int) -> list[np.ndarray]:
        sizes = self._comm.meet("win_allocate_shared", nbytes)
        whole = self._comm.meet("win_allocate_shared", np.zeros(sum(sizes), np.uint8))[0]
        return np.split(whole, np.cumsum(sizes)[:-1])

    def Shared_query(self, rank: int) -> tuple[np.ndarray, int]:
        """The memory (bytes) of a rank and its displacement unit; for PROC_NULL the first that is not empty."""
        self._enter("Shared_query", f"rank={rank}")
        memories = self._parts.memories
        if rank == mpi.PROC_NULL:
            rank = next((number for number, memory in enumerate(memories) if memory.size), 0)
        if not 0 <= rank < len(memories):
            raise mpi.Exception(mpi.ERR_RANK)
        return memories[rank], self._unit


def _single(what: str, data: Buffer) -> Buffer:
    """The buffer, if it holds one element; mpi4py's exception else."""
    if data.count != 1:
        raise ValueError(f"{what}: expecting a single element, got {data.count}")
    return data


def _alike(what: str, data: Buffer, other: Buffer) -> None:
    if (other.dtype, other.raw.size) != (data.dtype, data.raw.size):
        raise ValueError(f"mismatch in origin and {what} MPI datatypes")


def _combiner(data: Buffer, op: Any) -> Callable[[np.ndarray], None]:
    """What combines `data` into memory (bytes) of the same size; mpi.Exception if `op` does not fit its type."""
    if op == mpi.NO_OP:
        return lambda there: None
    if op == mpi.REPLACE:
        return lambda there: np.copyto(there, data.raw)
    if data.dtype == "bfloat16" or np.dtype(data.dtype).kind not in operations.kinds(op):
        raise mpi.Exception(mpi.ERR_OP)
    return lambda there: operations.combiner(op, data.typed())(there.view(data.dtype), data.typed())
