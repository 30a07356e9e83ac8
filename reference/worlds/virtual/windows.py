"""Windows of the virtual cluster: memory that other ranks may read, write and add to by themselves.

This is what RDMA hardware does: the rank whose memory it is takes no part, and its clock does not move. The accesses
are in one_sided.py, what becomes of the program's buffers meanwhile in accesses.py, who may access what, and when, in
epochs.py. Here: how windows are made, and the calls that begin and end epochs.

A shared window is memory of one machine: loads and stores that are no calls. Those take no time, and nobody sees them
coming, so they happen when the rank's thread executes them, which may be far ahead of the others' clocks. Sync() puts
them in order: it lets go until no rank's clock is behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import mpi
from ...collectives import exchange
from ...collectives.rounds import Blocks, steps
from ..errors import BufferChanged
from . import report
from .completion import Completion
from .epochs import COLLECTIVE, FENCE, LOCK, POST, Locks, Signals, Turn, check_assertion, refused
from .one_sided import OneSided


class VirtualWindow(OneSided):
    """mpi4py's Win on the virtual cluster, as seen by one rank."""

    def __init__(self, comm: Any, nbytes: int, disp_unit: int):
        if nbytes < 0 or disp_unit < 1:
            raise mpi.Exception(mpi.ERR_ARG)
        own = comm.for_window()
        super().__init__(own, self._allocate(comm, nbytes), disp_unit)
        locks, signals = own.meet("win_allocate", ([Locks() for _ in range(comm.size)], Signals()))[0]
        self._locks: list[Locks] = locks
        self._signals: Signals = signals
        self._closings: list[Completion] = []  # of the origins of Post
        comm._engine.windows.append(self)

    def _allocate(self, comm: Any, nbytes: int) -> list[np.ndarray]:
        """The memory of every rank."""
        return comm.meet("win_allocate", np.zeros(nbytes, np.uint8))

    def tomemory(self) -> np.ndarray:
        """This rank's own memory, as bytes; np.frombuffer gives it a type."""
        return self._memories[self._comm.rank]

    def Lock(self, rank: int, lock_type: int = mpi.LOCK_EXCLUSIVE, assertion: int = 0) -> None:
        """Begin an epoch of access to one rank's memory: alone, or together with others that want LOCK_SHARED."""
        exclusive = lock_type == mpi.LOCK_EXCLUSIVE
        self._enter("Lock", f"rank={rank}, {'LOCK_EXCLUSIVE' if exclusive else 'LOCK_SHARED'}")
        if lock_type not in (mpi.LOCK_EXCLUSIVE, mpi.LOCK_SHARED):
            raise refused(mpi.ERR_LOCKTYPE, f"lock type {lock_type} is neither LOCK_EXCLUSIVE nor LOCK_SHARED")
        check_assertion(assertion, LOCK)
        self._epochs.check_rank(rank)
        if rank != mpi.PROC_NULL:
            self._epochs.lock(rank)
            self._ask([rank], exclusive)

    def Unlock(self, rank: int) -> None:
        """End the epoch: everything begun for that rank is complete; the next in the queue gets the lock."""
        self._enter("Unlock", f"rank={rank}")
        self._epochs.check_rank(rank)
        if rank != mpi.PROC_NULL:
            self._epochs.unlock(rank)
            self._complete([rank])
            self._release([rank])

    def Lock_all(self, assertion: int = 0) -> None:
        """Begin an epoch of access to the memory of all ranks, together with others."""
        self._enter("Lock_all")
        check_assertion(assertion, LOCK)
        self._epochs.lock_all()
        self._ask(range(self._comm.size), exclusive=False)

    def Unlock_all(self) -> None:
        """End it: everything begun is complete."""
        self._enter("Unlock_all")
        self._epochs.unlock_all()
        self._complete(range(self._comm.size))
        self._release(range(self._comm.size))

    def Flush(self, rank: int) -> None:
        """Wait until everything begun for that rank is complete, there too."""
        self._enter("Flush", f"rank={rank}")
        self._epochs.check_rank(rank)
        if rank != mpi.PROC_NULL:
            self._epochs.hold(rank)
            self._complete([rank])

    def Flush_all(self) -> None:
        """Flush every rank."""
        self._enter("Flush_all")
        self._epochs.hold_any()
        self._complete(range(self._comm.size))

    Flush_local, Flush_local_all = Flush, Flush_all  # the origin's buffers are free when the transfer has arrived

    def Sync(self) -> None:
        """Let go until no rank's clock is behind: direct loads and stores between two of these happen in that order.

        It costs a moment, like every question whether something has happened (Test, Iprobe).
        """
        self._enter("Sync")
        self._epochs.hold_any()
        self._comm._engine.poll(self._comm._me)

    def Fence(self, assertion: int = 0) -> None:
        """Wait until everything that any rank has begun is complete; called by all ranks."""
        self._enter("Fence")
        check_assertion(assertion, FENCE)
        self._epochs.fence(assertion)
        self._complete(range(self._comm.size))
        nothing = Blocks(np.empty(0, np.uint8), self._comm.size)
        rounds = exchange.dissemination_barrier_rounds(self._comm.rank, self._comm.size)
        asserted = {"assertion": assertion & COLLECTIVE} if assertion & COLLECTIVE else {}
        self._comm.carry_out("Fence", asserted, lambda agent: steps(agent, rounds, nothing, nothing))

    def Start(self, group: Any, assertion: int = 0) -> None:
        """Begin an epoch of access to the ranks of a group; waits until each of them has called Post."""
        targets = self._members("Start", group, assertion, LOCK)
        self._epochs.start(targets)
        openings = [self._signals.expect("opening", target, self._comm.rank) for target in targets]
        if openings:
            self._comm._engine.wait(self._comm._me, openings)

    def Complete(self) -> None:
        """End it: everything begun is complete."""
        self._enter("Complete")
        targets = self._epochs.complete()
        self._complete(targets)
        self._give("closing", targets)

    def Post(self, group: Any, assertion: int = 0) -> None:
        """Begin an epoch in which the ranks of a group have access to this rank's memory; waits for nobody."""
        origins = self._members("Post", group, assertion, POST)
        self._epochs.post(origins)
        self._closings = [self._signals.expect("closing", origin, self._comm.rank) for origin in origins]
        self._give("opening", origins)

    def Wait(self) -> None:
        """End it, when each of them has called Complete."""
        self._enter("Wait")
        self._epochs.exposed()
        if self._closings:
            self._comm._engine.wait(self._comm._me, self._closings)
        self._epochs.posted = None

    def Test(self) -> bool:
        """Whether each of them has called Complete, and then it is ended. Asking takes a moment."""
        self._enter("Test")
        self._epochs.exposed()
        engine, me = self._comm._engine, self._comm._me
        engine.poll(me)
        done = all(closing.done_at is not None and closing.done_at <= me.clock for closing in self._closings)
        engine.polled(me, done)
        if done:
            self._epochs.posted = None
        return done

    def Get_group(self) -> Any:
        """The ranks of the window."""
        return self._comm.Get_group()

    def Free(self) -> None:
        """Give the window up; called by all ranks."""
        self._enter("Free")
        self._epochs.free()
        self._comm.meet("Free", None)
        self.tomemory()[:] = 0xFF  # NaN, or -1: real memory would be gone, so nobody may rely on it
        self._freed = True

    def unfinished(self) -> list[Completion]:
        """Accesses that no call has completed yet, and locks that are still held: for the report at the end."""
        accesses = [access for pending in self._pending.values() for access in pending]
        me = self._comm._me.index
        return accesses + [locks.held[me] for locks in self._locks if me in locks.held]

    def _members(self, name: str, group: Any, assertion: int, allowed: set[int]) -> list[int]:
        """The numbers, in this window, of a group's ranks."""
        members = [] if group == mpi.GROUP_EMPTY else group.members
        ranks = [self._comm._context.rank_of.get(member, -1) for member in members]
        self._enter(name, f"group={ranks}")
        check_assertion(assertion, allowed)
        if -1 in ranks:
            raise refused(mpi.ERR_GROUP, "a rank of this group is not in the window")
        return ranks

    def _give(self, kind: str, ranks: Iterable[int]) -> None:
        """Tell these ranks."""
        engine, me = self._comm._engine, self._comm._me
        signals = [self._signals.give(kind, self._comm.rank, rank) for rank in ranks]

        def arrive(time: float) -> None:
            for signal in signals:
                signal.complete(engine, time)

        engine.post(me.clock, me.index, arrive)

    def _ask(self, targets: Iterable[int], exclusive: bool) -> None:
        """Wait for the locks of these ranks' memory."""
        engine, me = self._comm._engine, self._comm._me
        turns = [Turn(me, self._locks[target], exclusive) for target in targets]

        def ask(time: float) -> None:
            for turn in turns:
                turn.locks.ask(engine, time, turn)

        engine.post(me.clock, me.index, ask)
        engine.wait(me, turns)

    def _release(self, targets: Iterable[int]) -> None:
        engine, me = self._comm._engine, self._comm._me

        def release(time: float) -> None:
            for target in targets:
                self._locks[target].release(engine, time, me.index)

        engine.post(me.clock, me.index, release)

    def _complete(self, targets: Iterable[int]) -> None:
        pending = [access for target in targets for access in self._pending.pop(target, [])]
        if pending:
            self._comm._engine.wait(self._comm._me, pending)
        for access in pending:
            if access.changed():
                self._comm.refuse(BufferChanged, report.changed_cause(access))
            access.take_delivery()


class SharedWindow(VirtualWindow):
    """A window of memory that all its ranks see: the parts of all ranks, one after the other."""

    def _allocate(self, comm: Any, nbytes: int) -> list[np.ndarray]:
        sizes = comm.meet("win_allocate_shared", nbytes)
        whole = comm.meet("win_allocate_shared", np.zeros(sum(sizes), np.uint8))[0]
        return np.split(whole, np.cumsum(sizes)[:-1])

    def Shared_query(self, rank: int) -> tuple[np.ndarray, int]:
        """The memory (bytes) of a rank and its displacement unit; for PROC_NULL the first that is not empty."""
        self._enter("Shared_query", f"rank={rank}")
        if rank == mpi.PROC_NULL:
            rank = next((number for number, memory in enumerate(self._memories) if memory.size), 0)
        self._epochs.check_rank(rank)
        return self._memories[rank], self._unit
