"""Exchanges of a schedule, one after the other, without waking the rank for each.

Idea      A program that calls Sendrecv again and again must be woken after each: only its thread knows what comes next.
          A schedule says so itself (collectives/rounds.py). So the thread sleeps until the last exchange, and the event
          that would wake it begins the next one, in whichever thread works off the events.
Exact     Nothing else differs from a loop of Sendrecv: calls are counted, noted for reports and posted in the same
          turns, and every wait is in the timeline. (test_in_turn.py)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

from ... import mpi
from .. import spelling
from .completion import Completion, Waiter
from .failing import raise_failed
from .place import Place, place
from .point_to_point import PointToPoint, read_exchange, read_message
from .rank import Rank


class ScheduledMessages(PointToPoint):
    """A communicator's call for those who know in advance what to exchange."""

    def exchange_in_turn(self, exchanges: Iterator[tuple], tag: int) -> None:
        """Sendrecv, Send or Recv for each (outgoing, to, incoming, source), PROC_NULL where nothing goes or comes.

        What the iterator does in between is done by any thread: it must not depend on the rank's own.
        """
        if self._barred:
            raise self._refusal()
        self._engine.check(self._me)
        InTurn(self, exchanges, tag, place(sys._getframe(1))).carry_out()


class InTurn(Waiter):
    """The exchanges of one rank, under way."""

    def __init__(self, comm: ScheduledMessages, exchanges: Iterator[tuple], tag: int, called_from: Place):
        self.comm, self.exchanges, self.tag, self.place = comm, exchanges, tag, called_from
        self.index, self.missing, self.latest = comm._me.index, 0, 0.0
        self.start = 0.0  # of the wait under way
        self.error: BaseException | None = None
        self.here = copy_context().run  # NumPy's errstate is that of the rank in other threads, too

    def carry_out(self) -> None:
        """Exchange all, called by the rank itself; raise what went wrong."""
        if not self.here(self._go_on):
            self.comm._engine.stop(self.comm._me)
        if self.error is not None:
            raise self.error

    def resume(self, time: float) -> Rank | None:
        """The event: an exchange is complete. Go on; the rank wakes up after the last."""
        me = self.comm._me
        me.resume(time)
        if not self.comm._engine.act_as(me):
            return None
        try:
            over = self.here(self._go_on)
        except BaseException as error:  # the rank's, and raised in its own thread
            self.error, over = error, True
        me.state = "waiting"
        return me if over else None

    def _go_on(self) -> bool:
        """End the exchange under way, begin the next ones until one takes time; whether all are over."""
        me, engine = self.comm._me, self.comm._engine
        while True:
            if me.awaited:
                awaited = me.awaited
                engine.waited(me, self.start)
                if engine.errors:
                    raise_failed(engine, awaited)
            exchange = next(self.exchanges, None)
            if exchange is None:
                return True
            me.awaited = self._begin(*exchange)
            self.start = me.clock
            if engine.errors:
                raise_failed(engine, me.awaited)
            if self.expects(me.awaited, me.clock):
                return False
            me.clock = self.latest

    def _begin(self, outgoing: Any, to: int, incoming: Any, source: int) -> list[Completion]:
        """Post one exchange, as the call that it is; what to wait for."""
        comm, tag, here = self.comm, self.tag, self.place
        if comm._barred:
            raise comm._refusal()
        if source == mpi.PROC_NULL:
            buffer = read_message(outgoing, to)
            comm.noted(here, "Send", spelling.sending, (to, tag, buffer))
            return [comm._post_send(buffer, to, tag)]
        if to == mpi.PROC_NULL:
            buffer = read_message(incoming, source, writable=True)
            comm.noted(here, "Recv", spelling.arguments, (source, tag, buffer))
            return [comm._post_receive(buffer, source, tag, blocking=True)]
        out, come = read_exchange(outgoing, to, incoming, source)
        comm.noted(here, "Sendrecv", spelling.exchanging, (to, tag, source, tag, come))
        return comm._post_exchange(out, to, tag, come, source, tag)
