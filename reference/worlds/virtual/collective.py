"""What carries out a collective call on the virtual cluster: an agent for each rank, and its rounds as events.

Every call is a plan (plans.py, objects.py) whose generator yields the requests of one round after the other. The event
loop drives it (`Activity`), so blocking and nonblocking forms are the same thing, waited for or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ... import mpi
from ..buffers import Buffer, as_buffer, as_vector
from .completion import Completion, Request, Waiter
from .engine import Engine
from .rank import Rank, Turns


class Agent:
    """What carries out a collective for one rank: a communicator of just the calls that `steps` makes, with a clock."""

    def __init__(self, engine: Engine, me: Rank, group: tuple[int, ...], rank: int, context: Any):
        self.engine, self.me, self.group, self.context = engine, me, group, context
        self.rank, self.size, self.clock = rank, len(group), me.clock
        self.kept: dict[str, Any] = {}
        self.turn = Turns()

    def Isend(self, buf, dest: int, tag: int = 0) -> Completion:
        """Post a send at the agent's clock; synchronous, as everything inside a collective."""
        return self.send(as_buffer(buf), dest, tag)

    def send(self, buffer: Buffer, dest: int, tag: int = 0) -> Completion:
        """Isend of memory that has been read already."""
        if dest == mpi.PROC_NULL:
            return self._done()
        request = Request(self.me, self.group[dest], tag, self.context, buffer)
        self.clock = self.engine.called(self.me, self.clock)
        self.engine.messages.send(self.clock, self.me, request, self.turn(self.clock))
        return request

    def Irecv(self, buf, source: int, tag: int = 0) -> Any:
        """Post a receive at the agent's clock; `buf` None takes an object's bytes."""
        if source == mpi.PROC_NULL:
            return self._done()
        buffer = None if buf is None else as_buffer(buf, writable=True)
        request = Request(self.me, self.group[source], tag, self.context, buffer, blocking=True)
        self.clock = self.engine.called(self.me, self.clock)
        self.engine.messages.receive(self.clock, self.me, request, self.turn(self.clock))
        return request

    def compute(self, seconds: float = 0.0, reduced: int = 0) -> None:
        """Move the agent's clock on."""
        self.clock = self.engine.computed(self.me, self.clock, seconds, reduced)

    def _done(self) -> Completion:
        nothing = Completion()
        nothing.done_at = self.clock
        return nothing


class Shadows:
    """The communicator for the plan of a nonblocking collective: its buffers are copies of the program's.

    So what the program changes too early has no effect on the others, and is noticed (`watched`: buffers of the program
    and what was in them), and it does not see results before it has waited (`results`: buffers, and what goes there).
    """

    def __init__(self, comm: Any):
        self.rank, self.size, self.check_root, self.meet = comm.rank, comm.size, comm.check_root, comm.meet
        self.watched: list[tuple[Buffer, np.ndarray]] = []
        self.results: list[tuple[Buffer, np.ndarray]] = []

    def read(self, spec: Any, writable: bool = False, blocks: int = 1) -> Buffer:
        """as_buffer, of a copy. mpi.Exception if two buffers of one call share memory."""
        return self._copied(as_buffer(spec, writable, blocks), writable)

    def read_vector(self, spec: Any, ranks: int, writable: bool = False) -> Buffer:
        """as_vector, of a copy."""
        return self._copied(as_vector(spec, ranks, writable), writable)

    def _copied(self, buffer: Buffer, writable: bool) -> Buffer:
        if any(buffer.raw.size and np.may_share_memory(buffer.memory(), other.memory()) for other, _ in self.watched):
            raise mpi.Exception(mpi.ERR_BUFFER)
        copy = buffer.raw.copy()
        self.watched.append((buffer, copy.copy() if writable else copy))
        if writable:
            self.results.append((buffer, copy))
        return replace(buffer, raw=copy, scattered=None)


class Activity(Completion, Waiter):
    """A collective under way: its rounds follow each other in the event loop, without the rank."""

    __slots__ = ("agent", "rounds", "result", "error", "call", "rank", "index", "buffers", "missing", "latest")

    def __init__(self, agent: Agent, work: Callable[[Agent], Iterator[list]], buffers: Shadows | None = None):
        super().__init__()
        self.agent, self.rounds, self.result, self.buffers = agent, work(agent), None, buffers
        self.error: Exception | None = None
        self.rank = self.index = agent.me.index
        self.call = agent.me.call
        agent.engine.post(agent.clock, self.index, self.resume)

    def changed(self) -> bool:
        """Whether the program has changed one of its buffers."""
        watched = self.buffers.watched if self.buffers else ()
        return any(not np.array_equal(buffer.now(), before) for buffer, before in watched)

    def take_delivery(self) -> None:
        """Tell the rank what went wrong, if anything did; put the results where it wanted them."""
        if self.error is not None:
            raise self.error
        for buffer, came in self.buffers.results if self.buffers else ():
            buffer.store(came)

    def resume(self, time: float) -> None:
        """The event: the last round is complete; post the next one."""
        self.agent.clock = time
        try:
            requests = next(self.rounds)
        except StopIteration as end:
            self.result = end.value
            self.complete(self.agent.engine, self.agent.clock)
        except Exception as error:  # raised to the rank when it asks for the result
            self.error = error
            self.complete(self.agent.engine, self.agent.clock)
        else:
            if not self.expects(requests, self.agent.clock):
                self.agent.engine.post(self.latest, self.index, self.resume)


# A plan: the arguments in which all ranks must agree, and the work that an agent does
Plan = tuple[dict[str, Any], Callable[[Agent], Iterator[list]]]


def in_place(buf: Any) -> bool:
    """Whether a call's buffer says that the other one is both; None says so, too, as in mpi4py."""
    return buf is None or (isinstance(buf, type(mpi.IN_PLACE)) and buf == mpi.IN_PLACE)


def signature(buffer: Buffer, **more: Any) -> dict[str, Any]:
    """What must be alike on all ranks of a collective: its number and type of elements, and `more`."""
    return {**more, "count": buffer.count, "dtype": buffer.dtype}


def same(send: Buffer, recv: Buffer, send_count: int, recv_count: int) -> None:
    """mpi4py's check that a call's own two buffers fit together, and MPI's that they are not one."""
    if send.dtype != recv.dtype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if send_count != recv_count:
        raise ValueError(f"mismatch in send count {send_count} and receive count {recv_count}")
    if send.raw.size and np.may_share_memory(send.memory(), recv.memory()):
        raise mpi.Exception(mpi.ERR_BUFFER)


def into(buffer: Buffer | None, work: Callable[[Agent], Iterator[list]]) -> Callable[[Agent], Iterator[list]]:
    """The work, and then what came is put where the program wants it, if that is not where it came to."""
    if buffer is None or buffer.scattered is None:
        return work

    def and_store(agent: Agent) -> Iterator[list]:
        yield from work(agent)
        buffer.store(buffer.raw)

    return and_store
