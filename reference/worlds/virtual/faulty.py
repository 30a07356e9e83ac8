"""The engine of a launch with faults (faults.py): ranks die and hang, networks part, messages are lost or changed.

A death is an event. At that time the rank stops wherever it is: what it has posted and nobody has met is withdrawn, its
transfers under way are lost, its events are dropped. Its thread sleeps until the launch is over, so that, as after
SIGKILL, no `finally` of the program runs before that. `detection` seconds later each other rank learns of it: what it
has pending that needs the dead rank fails then (failing.py).

Without faults all this is not there: launch takes the plain Engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from ... import mpi
from ...mpi.failures import FailureError
from ..faults import Fault, Hang, Kill, Partition, slowness
from . import fair
from .agreement import Agreement
from .completion import Arrival, Bell, Request
from .engine import Aborted, Engine
from .failing import context_of, doubtful, drop_events, fail, fail_later, needed, obituary, pending
from .lossy import LossyMatching
from .rank import Rank

FIRST = -1  # a turn before all others: who dies at a time does nothing at that time
LATE = fair.LAST - 1  # a turn behind what a rank posts at that time
GONE = "killed", "hung"


class MortalRank(Rank):
    """A rank that may die or hang: `fates` are its faults that have not come yet, `ends_at` when the last one comes."""

    def __init__(self, index: int, slow: float, fates: list[Kill | Hang]):
        super().__init__(index, slow)
        self.failed: list[int] = []
        self.fates, self.ends_at = fates, inf
        self.pauses: list[tuple[float, float]] = []  # from when until when it hangs

    def resumed(self, time: float) -> float:
        """When what it would do at `time` happens: after the pause that it is in."""
        return next((end for begin, end in self.pauses if begin <= time < end), time)


class FaultyEngine(Engine):
    """An engine whose ranks and messages meet the faults of a launch; `detection(observer, failed)` is in seconds."""

    mortal = True

    ranks: list[MortalRank]  # type: ignore[assignment]
    messages: LossyMatching

    def __init__(
        self,
        ranks: int,
        network: Any,
        faults: Sequence[Fault],
        detection: float | Callable[[int, int], float],
        *how: Any,
    ):
        self.faults, self.detection = faults, detection
        self.deaths: dict[int, float] = {}
        super().__init__(ranks, network, slowness(faults), *how)

    def _rank(self, index: int, slow: float) -> MortalRank:
        fates = [fault for fault in self.faults if isinstance(fault, Kill | Hang) and fault.rank == index]
        return MortalRank(index, slow, fates)

    def _matching(self, sharing: str) -> LossyMatching:
        return LossyMatching(self, sharing, self.faults)

    def _start(self, programs: list[Callable[[], Any]], guard: Any) -> None:
        """Let each rank begin, and its faults wait for their time."""
        for rank in self.ranks:
            for fate in [fate for fate in rank.fates if fate.at is not None]:
                self._befall(rank, fate, fate.at)
        super()._start([self._to_the_end(*both) for both in zip(self.ranks, programs, strict=True)], guard)

    def _to_the_end(self, rank: MortalRank, program: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            result = program()
            self.check(rank)
            return result

        return run

    # When ranks die and hang -----------------------------------------------------------------------------------

    def _befall(self, me: MortalRank, fate: Any, time: float) -> None:
        """Let a fault come at `time`."""
        me.fates.remove(fate)
        if isinstance(fate, Hang) and fate.seconds < inf:
            me.pauses.append((time, time + fate.seconds))
            return
        me.ends_at = min(me.ends_at, time)
        strike = self._die if isinstance(fate, Kill) else self._hang
        super().post(time, me.index, lambda now: strike(now, me, fate), FIRST)

    def check(self, me: Any) -> None:
        """Whether `me` may make a call; it may be its last one, or it hangs for a while first."""
        if me.state in GONE:
            raise Aborted  # the launch is over, and its `finally` blocks run
        super().check(me)
        for fate in [fate for fate in me.fates if self._is_due(me, fate)]:
            self._befall(me, fate, me.clock)
        me.clock = me.resumed(me.clock)
        if me.clock >= me.ends_at:
            self.stop(me)

    def _is_due(self, me: MortalRank, fate: Any) -> bool:
        made = me.calls.get(fate.call, 0) if fate.call else sum(me.calls.values())
        return fate.after is not None and made >= fate.after

    def act_as(self, me: Any) -> bool:
        """Let the thread that works off events make calls of `me`, unless a fault comes first."""
        for fate in [fate for fate in me.fates if self._is_due(me, fate)]:
            self._befall(me, fate, me.clock)
        return me.clock < me.ends_at and super().act_as(me)

    def computed(self, me: Any, start: float, seconds: float, reduced: int = 0, label: str = "") -> float:
        """When a computation ends: a rank that hangs goes on with it afterwards, one that dies does not."""
        end = start + (seconds + reduced * self.network.gamma) * me.slow
        for begin, resumed in me.pauses:
            if start < begin < end:
                super().computed(me, start, (begin - start) / me.slow, 0, label)
                return self.computed(me, resumed, (end - begin) / me.slow, 0, label)
        if start < me.ends_at < end:
            return super().computed(me, start, (me.ends_at - start) / me.slow, 0, label)
        return super().computed(me, start, seconds, reduced, label)

    def post(self, time: float, rank: int, action: Callable, turn: int = 0, about: Any = None) -> None:
        """Queue an event, unless its rank is gone; what a hanging rank would do waits."""
        me: Any = self.ranks[rank]
        if turn != fair.LAST:
            if me.state in GONE:
                return
            time = me.resumed(time)
        super().post(time, rank, action, turn, about)

    def _die(self, time: float, me: MortalRank, fate: Kill) -> None:
        """The event: a rank is gone, and the others will learn of it."""
        if not self._stop_for_good(time, me, "killed", f"was killed at {time:g} s ({fate})"):
            return
        self.deaths[me.index] = time
        self.messages.bury(time, me)
        me.requests.clear()
        self.windows = [window for window in self.windows if window._comm._me is not me]
        for other in self.ranks:
            if other is not me:
                wait = self.detection(other.index, me.index) if callable(self.detection) else self.detection
                self.post(time + wait, other.index, lambda now, other=other: self._learn(now, other, me.index))

    def _hang(self, time: float, me: MortalRank, fate: Hang) -> None:
        """The event: a rank stops for good, and nobody is told."""
        self._stop_for_good(time, me, "hung", f"hangs since {time:g} s ({fate})")

    def _stop_for_good(self, time: float, me: MortalRank, state: str, said: str) -> bool:
        if me.state in ("finished", "failed", *GONE):
            return False
        me.clock, me.state, me.said = time, state, said
        drop_events(self, lambda event: event[2] == me.index and event[1] != fair.LAST)
        return True

    # What the others learn -------------------------------------------------------------------------------------

    def _learn(self, time: float, me: MortalRank, dead: int) -> None:
        """The event: a rank learns of a death."""
        me.failed.append(dead)
        if me.clock > time and me.awaited:  # it is ahead, and what it waits for has yet to begin
            self.post(me.clock, me.index, lambda now: self._bereave(now, me, dead), LATE)
        else:
            self._bereave(time, me, dead)
        for context in self.contexts.values():
            for call in [call for call in context.calls.values() if isinstance(call, Agreement)]:
                call.look(self, time)

    def _bereave(self, time: float, me: MortalRank, dead: int) -> None:
        """What a rank has pending and needs the dead one for fails."""
        for one in pending(me) if me.state == "waiting" else ():
            why = f"{needed(one if hasattr(one, 'call') else me)}: {obituary(self, [dead])}"
            failed = FailureError(mpi.ERR_PROC_FAILED, why)
            if isinstance(one, Request):
                if one.peer == dead:
                    fail(self, time, me, one, failed)
                elif dead in doubtful(me, one) and one.waiter is not None:
                    fail_later(self, time, me, one, FailureError(mpi.ERR_PROC_FAILED_PENDING, why))
            elif (isinstance(one, Arrival) or hasattr(one, "rounds")) and dead in context_of(me, one).rank_of:
                fail(self, time, me, one, failed)

    def wait(self, me: Any, requests: list, any_one: bool = False) -> None:
        """Stop `me` until all (or any one) are complete. It stops in any case: something may happen until then."""
        if any(request in self.errors for request in requests):
            return
        start, me.awaited = me.clock, requests
        if any(doubtful(me, request) for request in requests):
            self._look_for(me, requests)
        if not any(request in self.errors for request in requests):
            if any_one:
                Bell(self, me, requests)
            elif not me.expects(requests, me.clock):
                self.post(me.latest, me.index, me.resume)
                for request in requests:
                    request.waiter = me
            self.stop(me)
        self.waited(me, start)

    def _look_for(self, me: Any, requests: list) -> None:
        """Whether receives from ANY_SOURCE have a message already: else they fail, for the sender may have died."""
        me.awaited = ()
        self.post(me.clock, me.index, me.resume)
        self.stop(me)
        me.awaited = requests
        for request in requests:
            if request.done_at is None and (lost := doubtful(me, request)):
                why = f"{needed(request)}: {obituary(self, lost)}"
                self.errors[request] = FailureError(mpi.ERR_PROC_FAILED_PENDING, why)

    # The network, and reports ----------------------------------------------------------------------------------

    def reached(self, time: float, group: Sequence[int]) -> float:
        """From when on the ranks of a group can reach each other: when no partition keeps them apart any more."""
        for part in sorted((fault for fault in self.faults if isinstance(fault, Partition)), key=lambda part: part.at):
            inside = [rank in part.ranks for rank in group]
            if part.at <= time < part.until and any(inside) and not all(inside):
                time = part.until
        return time

    def obstacles(self) -> list[str]:
        """Which faults keep ranks waiting."""
        hung = [f"rank {rank.index} {rank.said}" for rank in self.ranks if rank.state == "hung"]
        return hung + self.messages.obstacles
