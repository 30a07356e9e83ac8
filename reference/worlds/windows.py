"""One-sided communication on the virtual cluster: memory that other ranks may read, write and add to by themselves.

This is what RDMA hardware does: the rank whose memory it is takes no part, and its clock does not move. A transfer
costs alpha + n beta and holds ports and links like any other. Its data is read and written when it has arrived, all
at one moment, so an Accumulate is atomic. (MPI promises that for each element only, and nothing at all for a Put and
a Get of the same memory at the same time.)
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import mpi
from ..collectives import exchange, operations
from ..collectives.rounds import Blocks, steps
from . import report
from .buffers import Buffer, read
from .completion import Completion


class Parts:
    """What all ranks of a window share: every rank's memory (bytes), and who has locked whose."""

    def __init__(self, memories: list[np.ndarray]):
        self.memories = memories
        self.holder: dict[int, int | None] = defaultdict(lambda: None)  # target -> rank with the exclusive lock
        self.queue: dict[int, deque] = defaultdict(deque)  # target -> (rank, completion) that wait for it


class VirtualWindow:
    """mpi4py's Win on the virtual cluster, as seen by one rank. Displacements count in units of `disp_unit` bytes."""

    def __init__(self, comm: Any, nbytes: int, disp_unit: int):
        if nbytes < 0 or disp_unit < 1:
            raise mpi.Exception(mpi.ERR_ARG)
        self._comm, self._unit = comm, disp_unit
        memories = comm.meet("win_allocate", np.zeros(nbytes, np.uint8))
        self._parts = comm.meet("win_allocate", Parts(memories))[0]
        self._pending: dict[int, list[Completion]] = defaultdict(list)

    def tomemory(self) -> np.ndarray:
        """This rank's own memory, as bytes; np.frombuffer gives it a type."""
        return self._parts.memories[self._comm.rank]

    def Put(self, origin: Any, target_rank: int, target: int = 0) -> None:
        """Begin to write `origin` into the target's memory at displacement `target`."""
        data, there = self._open("Put", read(origin), target_rank, target)

        def arrive() -> None:
            there[:] = data.raw

        self._move(target_rank, data.raw.size, True, arrive)

    def Get(self, origin: Any, target_rank: int, target: int = 0) -> None:
        """Begin to read the target's memory at displacement `target` into `origin`."""
        data, there = self._open("Get", read(origin, writable=True), target_rank, target)

        def arrive() -> None:
            data.raw[:] = there

        self._move(target_rank, data.raw.size, False, arrive)

    def Accumulate(self, origin: Any, target_rank: int, target: int = 0, op: Any = mpi.SUM) -> None:
        """Begin to combine `origin` into the target's memory at displacement `target`."""
        data, there = self._open("Accumulate", read(origin), target_rank, target)
        if data.dtype == "bfloat16" or np.dtype(data.dtype).kind not in operations.kinds(op):
            raise mpi.Exception(mpi.ERR_OP)

        def arrive() -> None:
            operations.combiner(op, data.typed())(there.view(data.dtype), data.typed())

        self._move(target_rank, data.raw.size, True, arrive)

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
        self._comm._enter(name, report.plainly, arguments)

    def _open(self, name: str, data: Buffer, rank: int, displacement: int) -> tuple[Buffer, np.ndarray]:
        """The origin's data and the piece of the target's memory that is meant."""
        self._enter(name, f"target_rank={rank}, target={displacement}, {report.amount(data)}")
        if not 0 <= rank < self._comm.size:
            raise mpi.Exception(mpi.ERR_RANK)
        memory, start = self._parts.memories[rank], displacement * self._unit
        if start < 0 or start + data.raw.size > memory.size:
            raise mpi.Exception(mpi.ERR_RMA_RANGE)
        return data, memory[start : start + data.raw.size]

    def _move(self, target: int, nbytes: int, outward: bool, arrive: Callable[[], None]) -> None:
        """Begin a transfer between this rank and the target; `arrive` happens when it has arrived."""
        comm, engine, done = self._comm, self._comm._engine, Completion()
        here, there = comm._me.index, comm._context.group[target]
        source, dest = (here, there) if outward else (there, here)
        self._pending[target].append(done)
        engine.count(engine.ranks[source], nbytes)

        def begin(time: float) -> None:
            engine.post(engine.messages.reserve(time, source, dest, nbytes, comm.name), here, finish)

        def finish(time: float) -> None:
            arrive()
            done.complete(engine, time)

        engine.post(comm.wtime(), here, begin)

    def _complete(self, targets: Any) -> None:
        pending = [done for target in targets for done in self._pending.pop(target, [])]
        if pending:
            self._comm._engine.wait(self._comm._me, pending)
