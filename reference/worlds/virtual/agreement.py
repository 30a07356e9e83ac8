"""What the living members of a communicator decide together, although some of them may die meanwhile: Agree and Shrink.

Idea      Everybody brings something. The decision falls when every member has come, or has died and all who live know
          of it. It is one decision, so all that it reaches are told the same (it is uniform).
Price     One sweep up a binomial tree and one down: 2 ceil(log2 P) latencies after the last has come. Its messages are
          not counted, and hold no port.
Left out  How it is done. Agreement among ranks that may die is a protocol of its own.
Source    Herault, Bouteiller, Bosilca, Gamell, Teranishi, Parashar & Dongarra, "Practical scalable consensus for
          pseudo-synchronous distributed systems" (2015).
"""

from __future__ import annotations

from typing import Any

from ... import mpi
from ...mpi.failures import FailureError
from .completion import Completion
from .context import CollectiveCall, Context
from .failing import needed, obituary


class Outcome(Completion):
    """What a rank is told of an agreement: `flag`, who is left (`survivors`, in the world), or an `error` to raise."""

    __slots__ = ("call", "error", "flag", "survivors", "told")
    steadfast = True

    def __init__(self, call: Any):
        super().__init__()
        self.call, self.flag = call, -1
        self.survivors: tuple[int, ...] = ()
        self.error: mpi.Exception | None = None
        self.told: Any = None  # what is to be done with the outcome when the rank learns of it

    def take_delivery(self) -> None:
        """The rank learns of it."""
        told, self.told = self.told, None
        if told is not None:
            told(self)
        if self.error is not None:
            raise self.error


class Agreement(CollectiveCall):
    """One call of Agree or Shrink by the members of `context`: who has come, with what, since when."""

    def __init__(self, name: str, context: Context, rank: int):
        super().__init__(name, {}, rank)
        self.context, self.decided = context, False

    def join(self, engine: Any, time: float, index: int, brought: tuple[int, frozenset[int], Outcome]) -> None:
        """The event: a rank (in the world) brings its flag, the failures that it has acknowledged, and its outcome."""
        self.arrived[self.context.rank_of[index]] = brought
        self.look(engine, time)

    def look(self, engine: Any, time: float) -> None:
        """Decide, if the time has come."""
        group, deaths = self.context.group, engine.deaths
        here = [index for rank, index in enumerate(group) if rank in self.arrived]
        living = [index for index in group if index not in deaths]
        if self.decided or any(index not in here for index in living):
            return
        missing = [index for index in group if index not in here]
        if all(dead in engine.ranks[index].failed for dead in missing for index in living):
            self._decide(engine, time, living, missing)

    def _decide(self, engine: Any, time: float, living: list[int], missing: list[int]) -> None:
        self.decided = True
        context = self.context
        flag = -1
        for brought, _, _ in self.arrived.values():
            flag &= brought
        known = {dead for index in living for dead in engine.ranks[index].failed}
        survivors = tuple(index for index in context.group if index not in known)
        outcomes = {index: self.arrived[context.rank_of[index]] for index in living}
        ignored = [dead for dead in missing if not all(dead in acked for _, acked, _ in outcomes.values())]
        told = engine.reached(time, context.group) + self._sweeps(engine)
        for index, (_, _, outcome) in outcomes.items():
            outcome.flag, outcome.survivors = flag, survivors
            if ignored and self.name == "Agree":
                why = f"{needed(outcome)}: {obituary(engine, ignored)}"
                outcome.error = FailureError(mpi.ERR_PROC_FAILED, why)
            engine.post(told, index, lambda now, outcome=outcome: outcome.complete(engine, now))
        context.calls = {number: call for number, call in context.calls.items() if call is not self}

    def _sweeps(self, engine: Any) -> float:
        """How long it takes to go up and down a tree of all members (s)."""
        first, *others = self.context.group
        alpha = max((engine.network.route(first, other).alpha for other in others), default=0.0)
        return 2 * len(others).bit_length() * alpha
