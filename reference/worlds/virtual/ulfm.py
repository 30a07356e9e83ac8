"""mpi4py's calls of User-Level Failure Mitigation (ULFM) on the virtual communicator: what survives the death of ranks.

    Get_failed, Ack_failed   whom this rank knows to have failed; from then on it receives from ANY_SOURCE without them
    Revoke, Is_revoked       end everything on a communicator, for all its members: nobody waits for who has left
    Agree                    the bitwise AND of a flag, the same for all survivors, even if ranks die meanwhile
    Shrink                   a communicator of the survivors, in the same order

What fails raises mpi.Exception of class ERR_PROC_FAILED, ERR_PROC_FAILED_PENDING or ERR_REVOKED. A rank learns of a
death launch's `detection` seconds later, each at its own time, and of Revoke one latency later; so a collective may end
well on some ranks and fail on others. A collective on a communicator with a member of whose death a rank knows fails at
once, as in Open MPI 5. Agree and Shrink work on any communicator, revoked or not. Windows do not outlive a member.

Sources: Bland, Bouteiller, Herault, Bosilca & Dongarra, "Post-failure recovery of MPI communication capability: Design
and rationale" (2013); Open MPI 5's manual pages of MPIX_Comm_revoke and the others; mpi4py 4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import mpi
from ...mpi.failures import FailureError
from .. import spelling
from .agreement import Agreement, Outcome
from .completion import Completion
from .failing import needed, obituary, revoke
from .groups import Groups, VirtualGroup
from .requests import VirtualRequest


class Resilient(Groups):
    """A communicator's calls that deal with failures."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._agreements = 0  # how many calls of Agree and Shrink it has made

    # Who has failed --------------------------------------------------------------------------------------------

    def Get_failed(self) -> VirtualGroup:
        """Those members whom this rank knows to have failed, in the order in which it has learned it."""
        self._enter_always("Get_failed")
        self._hear_news()
        return VirtualGroup(self._known(), self._me.index)

    def Ack_failed(self, num_to_ack: int | None = None) -> int:
        """Acknowledge the first so many of Get_failed (all); how many are acknowledged now.

        Receives from ANY_SOURCE go on without them, and Agree does not fail because of them.
        """
        self._enter_always("Ack_failed")
        self._hear_news()
        known, before = len(self._known()), self._context.acked.get(self._me.index, 0)
        acked = max(before, min(known, known if num_to_ack is None else num_to_ack))
        self._context.acked[self._me.index] = acked
        return acked

    def _known(self) -> list[int]:
        return [dead for dead in self._me.failed if dead in self._context.rank_of]

    def _hear_news(self) -> None:
        """Let everything happen that is earlier; like every question, it takes a moment."""
        self._engine.poll(self._me)
        self._engine.polled(self._me, True)

    def _all_alive(self) -> None:
        """mpi.Exception before a collective call, if this rank knows that a member has failed."""
        if known := self._known():
            raise FailureError(mpi.ERR_PROC_FAILED, f"{needed(self._me)}: {obituary(self._engine, known)}")

    # Revoke ----------------------------------------------------------------------------------------------------

    def Revoke(self) -> None:
        """End all that is pending on this communicator, on every member, and refuse all calls but those of this module.

        The others learn of it one latency later, even if this rank dies meanwhile.
        """
        self._enter_always("Revoke")
        engine, context, me, mine = self._engine, self._context, self._me.index, Completion()

        def spread(time: float) -> None:
            revoke(engine, context, me, time, me)
            for other in context.group:
                if other != me:
                    reached = engine.reached(time, (me, other)) + engine.network.route(me, other).alpha
                    engine.post(reached, other, lambda now, other=other: revoke(engine, context, other, now, me))
            mine.complete(engine, time)

        engine.post(self._me.clock, me, spread)
        engine.wait(self._me, [mine])

    def Is_revoked(self) -> bool:
        """Whether this rank knows that the communicator is revoked."""
        self._enter_always("Is_revoked")
        self._engine.poll(self._me)
        revoked = self._me.index in self._context.revoked
        self._engine.polled(self._me, revoked)
        return revoked

    # Agree and Shrink ------------------------------------------------------------------------------------------

    def Agree(self, flag: int) -> int:
        """The bitwise AND of all members' flags: the same on every rank that returns, even if ranks die meanwhile.

        Raises ERR_PROC_FAILED, on all of them or on none, if a member died without giving its flag and not all have
        acknowledged that before (Ack_failed).
        """
        self._enter_always("Agree", spelling.plainly, f"flag={flag}")
        outcome = self._join("Agree", int(flag))
        self._engine.wait(self._me, [outcome])
        outcome.take_delivery()
        return outcome.flag

    def Iagree(self, flag: Any) -> VirtualRequest:
        """Begin to agree on the C int in `flag`, which holds the outcome when the request is complete."""
        memory = memoryview(flag)
        if memory.nbytes != np.dtype(np.intc).itemsize:
            raise ValueError(f"message: expecting {np.dtype(np.intc).itemsize} bytes, got {memory.nbytes}")
        number = np.frombuffer(memory, np.intc)
        self._enter_always("Iagree", spelling.plainly, f"flag={number[0]}")
        outcome = self._join("Agree", int(number[0]))

        def told(outcome: Outcome) -> None:
            number[0] = outcome.flag

        outcome.told = told
        return VirtualRequest(self, outcome)

    def Shrink(self) -> Any:
        """The communicator of all members that have not failed, in the order of their ranks.

        It never raises because of a failure. Who dies meanwhile may still be in the new one; then shrink that.
        """
        self._enter_always("Shrink")
        number, outcome = self._agreements, self._join("Shrink", -1)
        self._engine.wait(self._me, [outcome])
        return self._member_of((self._context.key, "shrink", number), outcome.survivors, f"{self.name}.shrunk")

    def Ishrink(self) -> tuple[Any, VirtualRequest]:
        """Begin to shrink: a communicator that can be used when the request is complete, and the request."""
        self._enter_always("Ishrink")
        number, outcome = self._agreements, self._join("Shrink", -1)
        key, name = (self._context.key, "shrink", number), f"{self.name}.shrunk"
        new = self._member_of((*key, self._me.index), (self._me.index,), name)
        new.bar(mpi.ERR_COMM)

        def told(outcome: Outcome) -> None:
            new.__dict__ = self._member_of(key, outcome.survivors, name).__dict__  # it is that one from now on

        outcome.told = told
        return new, VirtualRequest(self, outcome)

    def _join(self, name: str, flag: int) -> Outcome:
        """Come to the next agreement of this communicator."""
        engine, context, me = self._engine, self._context, self._me
        number = "agreement", self._agreements
        self._agreements += 1
        call: Any = context.calls.setdefault(number, Agreement(name, context, self.rank))
        if call.name != name:
            self.mismatch(name, {}, call, f"agreement number {number[1] + 1}")
        outcome = Outcome(me.call)

        def join(time: float) -> None:
            acked = frozenset(self._known()[: context.acked.get(me.index, 0)])
            call.join(engine, time, me.index, (flag, acked, outcome))

        engine.post(me.clock, me.index, join)
        return outcome
