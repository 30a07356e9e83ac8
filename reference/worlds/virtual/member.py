"""The virtual communicator as one rank's membership in a group: its number, its clock, and whether it may call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ... import mpi
from ...mpi.failures import FailureError
from ...networks.network import Network, among
from .. import spelling
from .context import Context
from .engine import Engine, Rank
from .place import Call, Place, place


class Member:
    """A communicator's part that knows who this rank is, what time it is, and what it has called."""

    def __init__(self, engine: Engine, me: Rank, context: Context):
        self._engine, self._me, self._context = engine, me, context
        self._collectives = 0
        self.kept: dict[str, Any] = {}  # behind mpi.kept
        self._barred = mpi.ERR_REVOKED if me.index in context.revoked else 0  # why every call is refused, or 0
        context.views.append(self)
        self.rank, self.size = context.rank_of[me.index], len(context.group)

    def __bool__(self) -> bool:
        return self._barred != mpi.ERR_COMM

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        return not self and not other and (isinstance(other, (Member, mpi.Comm)))

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        raise ValueError("a communicator cannot be sent or stored: its messages are those of this launch")

    def __repr__(self) -> str:
        return f"<{self.name}: rank {self.rank} of {self.size}>"

    # Who and when ----------------------------------------------------------------------------------------------

    def Get_rank(self) -> int:
        """This rank's number in the group."""
        return self.rank

    def Get_size(self) -> int:
        """The number of ranks in the group."""
        return self.size

    def Get_name(self) -> str:
        """The group's name: what timelines and roll calls print."""
        return self._context.name

    def Set_name(self, name: str) -> None:
        """Name the group."""
        self._context.name = name

    name = property(Get_name, Set_name)

    @property
    def network(self) -> Network:
        """The network as the ranks of this group see it."""
        return among(self._engine.network, self._context.group)

    def wtime(self) -> float:
        """This rank's clock in seconds."""
        self._me.looked = True
        return self._me.clock

    def compute(self, seconds: float, reduced: int = 0) -> None:
        """Behind mpi.compute."""
        if seconds < 0:
            raise ValueError(f"a computation cannot take {seconds} s")
        self._engine.check(self._me)
        self._me.clock = self._engine.computed(self._me, self._me.clock, seconds, reduced)
        if self._engine.mortal:
            self._engine.check(self._me)

    def charge(self, seconds: float, label: str) -> None:
        """Behind mpi.charge."""
        self._engine.check(self._me)
        self._me.clock = self._engine.computed(self._me, self._me.clock, seconds, label=label)
        if self._engine.mortal:
            self._engine.check(self._me)

    def sleep(self, seconds: float) -> None:
        """Behind mpi.sleep."""
        if seconds < 0:
            raise ValueError(f"cannot sleep for {seconds} s")
        self._engine.check(self._me)
        self._me.clock += seconds
        if self._engine.mortal:
            self._engine.check(self._me)

    def _enter(self, name: str, describe: Callable[..., str] = spelling.plainly, *values: Any) -> None:
        """Note what this rank is about to call, with describe(*values) as its arguments, and from where."""
        if self._barred:
            raise self._refusal()
        self._engine.check(self._me)
        self.noted(place(sys._getframe(2)), name, describe, values)

    def bar(self, why: int) -> None:
        """Refuse all calls from now on: given up (ERR_COMM) or revoked."""
        self._barred = self._barred if self._barred == mpi.ERR_COMM else why

    def _refusal(self) -> mpi.Exception:
        name = repr(self.name)
        return mpi.Exception(mpi.ERR_COMM) if not self else FailureError(mpi.ERR_REVOKED, f"a call on {name}")

    def _enter_always(self, name: str, describe: Callable[..., str] = spelling.plainly, *values: Any) -> None:
        """_enter for calls that a revoked communicator offers, too."""
        if not self:
            raise self._refusal()
        self._engine.check(self._me)
        self.noted(place(sys._getframe(2)), name, describe, values)

    def note(self, name: str, describe: Callable[..., str], *values: Any) -> None:
        """_enter, also when the communicator has been freed: what it has begun is to be completed."""
        self._engine.check(self._me)
        self.noted(place(sys._getframe(2)), name, describe, values)

    def noted(self, called_from: Place, name: str, describe: Callable[..., str], values: tuple) -> None:
        """Count a call and note it."""
        me = self._me
        me.calls[name] += 1
        me.call = Call(name, describe, values, self._context, called_from)
