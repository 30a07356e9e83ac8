"""When a rank may access a window: the epochs of MPI, and the locks that keep others out.

A rank has access between two fences, or while it holds a lock: of one rank's memory (Lock), of several, or of all
(Lock_all, which is a shared lock of each), or from Start to Complete, to ranks that have opened theirs to it with Post,
and keep it open until Wait. These are kept apart: no lock while accesses since the last fence are not
complete, no fence while a lock is held. What breaks a rule raises mpi4py's exception of the class that MPI names for
it, also where a real MPI lets it pass (MPICH: a Put to a rank that is not locked, while another one is).

Shared locks of one memory are held together, an exclusive one is held alone. Requests are served first come, first
served on the virtual clock, ties by rank. So nobody starves: a shared request waits behind an exclusive one that came
before. A lock is granted at the moment of the request, or when the last holder who stands in the way unlocks, that is,
when all of that one's accesses are complete. Requests and grants travel in no time.

MODE_NOCHECK changes nothing.
Source: MPI 4.1, section 12.5.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ... import mpi
from .completion import Completion

FENCE = {mpi.MODE_NOSTORE, mpi.MODE_NOPUT, mpi.MODE_NOPRECEDE, mpi.MODE_NOSUCCEED}  # assertions that a fence takes
LOCK = {mpi.MODE_NOCHECK}  # a lock, and Start
POST = {mpi.MODE_NOCHECK, mpi.MODE_NOSTORE, mpi.MODE_NOPUT}
COLLECTIVE = mpi.MODE_NOPRECEDE | mpi.MODE_NOSUCCEED  # if one rank asserts these, all must


def refused(kind: int, why: str) -> mpi.Exception:
    """mpi4py's exception of a class, with a reason."""
    error = mpi.Exception(kind)
    error.add_note(why)
    return error


def check_assertion(assertion: int, allowed: set[int]) -> None:
    """mpi.Exception of class ERR_ASSERT unless it is a sum of the allowed ones."""
    if assertion & ~sum(allowed) or assertion < 0:
        raise refused(mpi.ERR_ASSERT, f"assertion {assertion} is not one of those that this call takes")


class Turn(Completion):
    """A request of rank `rank` (as in the world) for a lock: complete when it is granted."""

    __slots__ = ("locks", "rank", "exclusive", "call")

    def __init__(self, me: Any, locks: Locks, exclusive: bool):
        super().__init__()
        self.rank, self.call = me.index, me.call
        self.locks, self.exclusive = locks, exclusive


class Locks:
    """Who holds the lock of one rank's memory, and who waits for it."""

    def __init__(self):
        self.held: dict[int, Turn] = {}  # by the holder's rank in the world
        self.waiting: deque[Turn] = deque()

    def ask(self, engine: Any, time: float, turn: Turn) -> None:
        """Queue a request."""
        self.waiting.append(turn)
        self._grant(engine, time)

    def release(self, engine: Any, time: float, rank: int) -> None:
        """Take the lock back from `rank`."""
        del self.held[rank]
        self._grant(engine, time)

    def _grant(self, engine: Any, time: float) -> None:
        while self.waiting and not any(self.waiting[0].exclusive or held.exclusive for held in self.held.values()):
            turn = self.waiting.popleft()
            self.held[turn.rank] = turn
            turn.complete(engine, time)


class Signals:
    """What ranks tell each other of their epochs, from one to another: the n-th that is given meets the n-th expected.

    Shared by the ranks of a window, whose numbers `giver` and `taker` are. Signals travel in no time.
    """

    def __init__(self):
        self._signals: dict[tuple, Completion] = {}
        self._numbers: dict[tuple, int] = {}

    def _next(self, side: str, *key: Any) -> Completion:
        number = self._numbers[side, *key] = self._numbers.get((side, *key), 0) + 1
        return self._signals.setdefault((*key, number), Completion())

    def give(self, kind: str, giver: int, taker: int) -> Completion:
        """The next signal of this kind that `giver` gives `taker`; it is for the giver to complete it."""
        return self._next("given", kind, giver, taker)

    def expect(self, kind: str, giver: int, taker: int) -> Completion:
        """The next signal of this kind that `taker` gets from `giver`."""
        return self._next("taken", kind, giver, taker)


class Epochs:
    """What one rank of a window may access now, and what it may begin or end. Raises mpi.Exception for what it may not.

    After a fence there is an epoch (`fenced`) that counts only once it is `used`: a fence may just as well end the last
    one, and locks follow.
    """

    def __init__(self, size: int):
        self.size = size
        self.locked: set[int] = set()  # targets of Lock
        self.all = self.fenced = self.used = False
        self.started: list[int] | None = None  # targets of Start, until Complete
        self.posted: list[int] | None = None  # origins of Post, until Wait

    def check_rank(self, rank: int) -> None:
        """ERR_RANK unless it is a rank of the window, or PROC_NULL."""
        if rank != mpi.PROC_NULL and not 0 <= rank < self.size:
            raise refused(mpi.ERR_RANK, f"rank {rank} of a window of {self.size} ranks")

    def access(self, target: int) -> None:
        """The rank begins an access to the target's memory."""
        if self.fenced and not self._passive():
            self.used = True
        elif target not in (self.started or ()):
            self.hold(target)

    def hold(self, target: int) -> None:
        """The target must be locked: for a flush, and for what returns a request."""
        if not self.all and target not in self.locked:
            what = "the accesses since the last fence end with a fence" if self.used else "call Lock or Lock_all first"
            raise refused(mpi.ERR_RMA_SYNC, f"rank {target}'s memory is not locked: {what}")

    def hold_any(self) -> None:
        """Something must be locked: for a flush of all, and for Sync."""
        if not self._passive():
            raise refused(mpi.ERR_RMA_SYNC, "nothing is locked: this is for epochs of Lock or Lock_all")

    def lock(self, target: int) -> None:
        """Begin an epoch of access to one rank."""
        self._no_fence_epoch()
        if self.started is not None:
            self._nothing_locked()
        if self.all or target in self.locked:
            raise refused(mpi.ERR_RMA_SYNC, f"rank {target}'s memory is locked already: one lock at a time")
        self.locked.add(target)

    def unlock(self, target: int) -> None:
        """End it."""
        if target not in self.locked:
            raise refused(mpi.ERR_RMA_SYNC, f"no Lock of rank {target}'s memory to be ended")
        self.locked.discard(target)

    def lock_all(self) -> None:
        """Begin an epoch of access to all ranks."""
        self._no_fence_epoch()
        self._nothing_locked()
        self.all = True

    def unlock_all(self) -> None:
        """End it."""
        if not self.all:
            raise refused(mpi.ERR_RMA_SYNC, "no Lock_all to be ended")
        self.all = False

    def fence(self, assertion: int) -> None:
        """End the epoch of the last fence, and begin one unless it is asserted that none follows."""
        self._nothing_locked()
        if self.used and assertion & mpi.MODE_NOPRECEDE:
            raise refused(mpi.ERR_ASSERT, "MODE_NOPRECEDE, but there were accesses since the last fence")
        self.fenced, self.used = not assertion & mpi.MODE_NOSUCCEED, False

    def free(self) -> None:
        """The window is given up."""
        self._no_fence_epoch()
        self._nothing_locked()

    def start(self, targets: list[int]) -> None:
        """Begin an epoch of access to ranks that post theirs."""
        self._no_fence_epoch()
        self._nothing_locked(posted=False)
        self.started = targets

    def post(self, origins: list[int]) -> None:
        """Begin an epoch in which these ranks have access to this one's memory."""
        self._no_fence_epoch()
        if self.posted is not None:
            raise refused(mpi.ERR_RMA_SYNC, "the epoch of the last Post has not been ended: call Wait first")
        self.posted = origins

    def complete(self) -> list[int]:
        """End what `start` began; to whom it was."""
        targets, self.started = self.started, None
        if targets is None:
            raise refused(mpi.ERR_RMA_SYNC, "no Start to be completed")
        return targets

    def exposed(self) -> list[int]:
        """To whom `post` has opened the memory."""
        if self.posted is None:
            raise refused(mpi.ERR_RMA_SYNC, "no Post to wait for")
        return self.posted

    def _passive(self) -> bool:
        return self.all or bool(self.locked)

    def _nothing_locked(self, posted: bool = True) -> None:
        if self.started is not None or (posted and self.posted is not None):
            which = "Post" if self.started is None else "Start"
            raise refused(mpi.ERR_RMA_SYNC, f"the epoch of {which} has not been ended")
        if self._passive():
            which = "Lock_all" if self.all else f"Lock of {', '.join(map(str, sorted(self.locked)))}"
            raise refused(mpi.ERR_RMA_SYNC, f"the epoch of {which} has not been ended")

    def _no_fence_epoch(self) -> None:
        if self.used:
            raise refused(mpi.ERR_RMA_SYNC, "accesses since the last fence are not complete: call Fence first")
        self.fenced = False
