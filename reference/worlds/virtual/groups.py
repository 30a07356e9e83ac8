"""mpi4py's Group on the virtual cluster: an ordered set of ranks, and communicators made from one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import mpi
from .. import spelling
from ..errors import CollectiveMismatch, ProgramAborted
from . import report
from .persistent import Persistent


class VirtualGroup:
    """An ordered set of ranks, as one of all ranks sees it: `members` are numbers in the world, `me` is its own."""

    def __init__(self, members: Sequence[int], me: int):
        self.members, self.me, self._freed = tuple(members), me, False

    def __bool__(self) -> bool:
        return not self._freed

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, VirtualGroup):
            return (self.members, self._freed) == (other.members, other._freed)
        if not isinstance(other, mpi.Group):
            return NotImplemented
        return other == mpi.GROUP_NULL if self._freed else not self.members and other == mpi.GROUP_EMPTY

    __hash__ = None  # as mpi4py's

    def __reduce__(self) -> Any:
        raise ValueError("a group cannot be sent or stored: its ranks are those of this launch")

    def Get_size(self) -> int:
        """The number of ranks."""
        return len(self.members)

    def Get_rank(self) -> int:
        """This rank's number in the group, UNDEFINED if it is not in it."""
        return self.members.index(self.me) if self.me in self.members else mpi.UNDEFINED

    size, rank = property(Get_size), property(Get_rank)

    def _of(self, members: Sequence[int]) -> VirtualGroup:
        return VirtualGroup(members, self.me)

    def _checked(self, ranks: Sequence[int]) -> Sequence[int]:
        if len(set(ranks)) < len(ranks) or not all(0 <= rank < len(self.members) for rank in ranks):
            raise mpi.Exception(mpi.ERR_RANK)
        return ranks

    def Incl(self, ranks: Sequence[int]) -> VirtualGroup:
        """Those of these numbers, in that order."""
        return self._of([self.members[rank] for rank in self._checked(ranks)])

    def Excl(self, ranks: Sequence[int]) -> VirtualGroup:
        """All but those."""
        return self._of([member for rank, member in enumerate(self.members) if rank not in self._checked(ranks)])

    def Range_incl(self, ranks: Sequence[tuple[int, int, int]]) -> VirtualGroup:
        """Those in ranges (first, last, stride)."""
        return self.Incl(_ranged(ranks))

    def Range_excl(self, ranks: Sequence[tuple[int, int, int]]) -> VirtualGroup:
        """All but those in ranges (first, last, stride)."""
        return self.Excl(_ranged(ranks))

    def Union(self, other: VirtualGroup) -> VirtualGroup:
        """All of this one, then those of the other that are not in it."""
        return self._of([*self.members, *(member for member in other.members if member not in self.members)])

    def Intersection(self, other: VirtualGroup) -> VirtualGroup:
        """Those of this one that are in the other."""
        return self._of([member for member in self.members if member in other.members])

    def Difference(self, other: VirtualGroup) -> VirtualGroup:
        """Those of this one that are not in the other."""
        return self._of([member for member in self.members if member not in other.members])

    def Compare(self, other: VirtualGroup) -> int:
        """IDENT, SIMILAR (another order) or UNEQUAL."""
        if self.members == other.members:
            return mpi.IDENT
        return mpi.SIMILAR if set(self.members) == set(other.members) else mpi.UNEQUAL

    def Translate_ranks(self, ranks: Sequence[int] | None = None, group: VirtualGroup | None = None) -> list[int]:
        """What numbers those ranks (all) have in another group (in the world's); UNDEFINED: none."""
        numbers = range(len(self.members)) if ranks is None else ranks
        there = {member: rank for rank, member in enumerate(group.members)} if group is not None else {}
        known = self._checked([rank for rank in dict.fromkeys(numbers) if rank != mpi.PROC_NULL])
        world = group is None
        found = {rank: self.members[rank] if world else there.get(self.members[rank], mpi.UNDEFINED) for rank in known}
        return [found.get(rank, mpi.PROC_NULL) for rank in numbers]

    def Dup(self) -> VirtualGroup:
        """The same group."""
        return self._of(self.members)

    def Free(self) -> None:
        """Give the group up."""
        self._freed = True


def _ranged(ranges: Sequence[tuple[int, int, int]]) -> list[int]:
    if any(stride == 0 for *_, stride in ranges):
        raise mpi.Exception(mpi.ERR_ARG)
    return [rank for first, last, stride in ranges for rank in range(first, last + (1 if stride > 0 else -1), stride)]


class Groups(Persistent):
    """A communicator's calls about its group, and about what becomes of errors."""

    _split: Callable
    _member_of: Callable

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._formed: dict[Any, int] = {}  # how often a group has been made a communicator, by members and tag
        self._errhandler = mpi.ERRORS_RETURN

    def Get_group(self) -> VirtualGroup:
        """The group of this communicator."""
        return VirtualGroup(self._context.group, self._me.index)

    group = property(Get_group)

    def Create_group(self, group: VirtualGroup, tag: int = 0) -> Any:
        """The communicator of a group, made by its members alone; COMM_NULL for others."""
        self._enter("Create_group", spelling.plainly, f"ranks {list(group.members)}, tag={tag}")
        if self._me.index not in group.members:
            return self._null()
        nth = self._formed[group.members, tag] = self._formed.get((group.members, tag), -1) + 1
        key = self._context.key, "group", group.members, tag, nth
        self._member_of((*key, "forming"), group.members, self.name).meet("Create_group", None)
        return self._member_of(key, group.members, f"{self.name}.group")

    def Create(self, group: VirtualGroup) -> Any:
        """The communicator of a group, made by all ranks of this one; COMM_NULL for those that are not in it."""
        self._enter("Create", spelling.plainly, f"ranks {list(group.members)}")
        if self._me.index not in group.members:
            return self._split("Create", mpi.UNDEFINED, 0, "")
        place = group.members.index(self._me.index)
        return self._split("Create", group.members[0], place, f"{self.name}.group")

    def Clone(self) -> Any:
        """Dup."""
        self._enter("Clone")
        return self._split("Clone", 0, self.rank, f"{self.name}.dup")

    def Compare(self, comm: Groups) -> int:
        """IDENT, CONGRUENT (other messages), SIMILAR (another order, too) or UNEQUAL."""
        self._enter_always("Compare")
        if comm._context is self._context:
            return mpi.IDENT
        same = self.group.Compare(comm.group)
        return mpi.CONGRUENT if same == mpi.IDENT else same

    def Is_inter(self) -> bool:
        """Whether this communicator has two groups: never here."""
        return False

    def Is_intra(self) -> bool:
        """Whether it has one group."""
        return True

    is_inter, is_intra = property(Is_inter), property(Is_intra)

    def mismatch(self, name: str, arguments: dict, call: Any, which: str) -> None:
        """End the launch: this rank makes another collective call than the one who came first."""
        mine = f"{name}({spelling.spelled(arguments)})"
        theirs = f"{call.name}({spelling.spelled(call.arguments)})"
        cause = (
            f"rank {self.rank} of group {self.name!r} calls {mine} as the group's {which}, "
            f"but rank {call.first} called {theirs} there: all ranks of a group must make the same collective "
            f"calls in the same order, with matching arguments"
        )
        self.refuse(CollectiveMismatch, cause)

    def Get_errhandler(self) -> Any:
        """What becomes of errors: ERRORS_RETURN, mpi4py's choice. They become exceptions, which a program can catch."""
        return self._errhandler

    def Set_errhandler(self, errhandler: Any) -> None:
        """ERRORS_RETURN. A program that does not catch an exception ends the launch in any case."""
        if errhandler != mpi.ERRORS_RETURN:
            raise mpi.NotOffered("Set_errhandler is offered for ERRORS_RETURN: errors are exceptions here")

    def Abort(self, errorcode: int = 0) -> None:
        """End the launch, on all ranks at once."""
        self._enter_always("Abort", spelling.plainly, f"errorcode={errorcode}")
        engine, me = self._engine, self._me
        cause = f"rank {me.index} called Abort({errorcode}) on {self.name!r}"
        engine.abort(report.made(lambda: ProgramAborted(cause, report.roll_call(engine))))
        engine.check(me)

    def _null(self) -> Any:
        raise NotImplementedError
