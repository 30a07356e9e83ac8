"""The virtual cluster's own collectives: MPI's upper-case calls over the course's rounds.

Every call is a plan: a function with mpi4py's signature that reads its buffers and returns the arguments in which all
ranks must agree, and a generator that yields the requests of one round after the other. The event loop drives that
generator (`Activity`), so blocking and nonblocking forms are the same thing, waited for or not.

    Barrier dissemination · Bcast, Reduce binomial tree · Allreduce ring, tree if there is less than an element a rank
    Allgather(v), Reduce_scatter(_block) ring · Alltoall(v) pairwise · Scatter, Gather linear
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import mpi
from ...collectives import exchange, operations, ring, tree
from ...collectives.rounds import Blocks, steps
from ..buffers import Buffer, as_buffer
from .completion import Completion, Request, Waiter
from .engine import Engine
from .rank import Rank, Turns

Plan = tuple[dict[str, Any], Callable[["Agent"], Iterator[list]]]


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
        self.engine.messages.send(self.clock, self.me, request, self.turn(self.clock))
        return request

    def Irecv(self, buf, source: int, tag: int = 0) -> Any:
        """Post a receive at the agent's clock; `buf` None takes an object's bytes."""
        if source == mpi.PROC_NULL:
            return self._done()
        buffer = None if buf is None else as_buffer(buf, writable=True)
        request = Request(self.me, self.group[source], tag, self.context, buffer, blocking=True)
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
        self.watched: list[tuple[np.ndarray, np.ndarray]] = []
        self.results: list[tuple[np.ndarray, np.ndarray]] = []

    def read(self, spec: Any, writable: bool = False, ranks: int | None = None) -> Buffer:
        """as_buffer, of a copy. mpi.Exception if two buffers of one call share memory."""
        buffer = as_buffer(spec, writable, ranks)
        if any(buffer.raw.size and np.may_share_memory(buffer.raw, other) for other, _ in self.watched):
            raise mpi.Exception(mpi.ERR_BUFFER)
        copy = buffer.raw.copy()
        self.watched.append((buffer.raw, copy.copy() if writable else copy))
        if writable:
            self.results.append((buffer.raw, copy))
        return buffer._replace(raw=copy)


class Activity(Completion):
    """A collective under way: its rounds follow each other in the event loop, without the rank."""

    __slots__ = ("agent", "rounds", "result", "error", "call", "where", "rank", "buffers")

    def __init__(self, agent: Agent, work: Callable[[Agent], Iterator[list]], buffers: Shadows | None = None):
        super().__init__()
        self.agent, self.rounds, self.result, self.buffers = agent, work(agent), None, buffers
        self.error: Exception | None = None
        self.rank, self.call, self.where = agent.me.index, agent.me.call, agent.me.where
        agent.engine.post(agent.clock, agent.me.index, self.advance)

    def changed(self) -> bool:
        """Whether the program has changed one of its buffers."""
        return any(not np.array_equal(now, before) for now, before in self.buffers.watched) if self.buffers else False

    def take_delivery(self) -> None:
        """Tell the rank what went wrong, if anything did; put the results where it wanted them."""
        if self.error is not None:
            raise self.error
        for buffer, came in self.buffers.results if self.buffers else ():
            buffer[:] = came

    def advance(self, time: float) -> None:
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
            Waiter(self.agent.engine, self.agent.me.index, self.advance, requests, self.agent.clock)


def _in_place(buf: Any) -> bool:
    return buf is None or (isinstance(buf, type(mpi.IN_PLACE)) and buf == mpi.IN_PLACE)


def _signature(buffer: Buffer, **more: Any) -> dict[str, Any]:
    return {**more, "count": buffer.count, "dtype": buffer.dtype}


def _same(send: Buffer, recv: Buffer, send_count: int, recv_count: int) -> None:
    """mpi4py's check that a call's own two buffers fit together, and MPI's that they are not one."""
    if send.dtype != recv.dtype:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if send_count != recv_count:
        raise ValueError(f"mismatch in send count {send_count} and receive count {recv_count}")
    if send.raw.size and np.may_share_memory(send.raw, recv.raw):
        raise mpi.Exception(mpi.ERR_BUFFER)


def _reducible(buffer: Buffer, op) -> str:
    """The name of the operation; mpi.Exception if MPI does not define it for such elements."""
    if buffer.dtype == "bfloat16" or np.dtype(buffer.dtype).kind not in operations.kinds(op):
        raise mpi.Exception(mpi.ERR_OP)
    return operations.name(op)


def _share(buffer: Buffer, ranks: int) -> int:
    """Elements a rank of a buffer that holds one equal part for each."""
    if buffer.count % ranks:
        raise ValueError(f"message: buffer of {buffer.count} elements cannot be split evenly over {ranks} ranks")
    return buffer.count // ranks


def _byte_blocks(buffer: Buffer, ranks: int, counts: Any = None, displs: Any = None) -> Blocks:
    """A block a rank, in bytes: equal ones, or of `counts` elements each."""
    counts = [_share(buffer, ranks)] * ranks if counts is None else counts
    size = buffer.itemsize
    scaled = None if displs is None else [displ * size for displ in displs]
    return Blocks(buffer.raw, counts=[count * size for count in counts], displs=scaled)


def barrier(comm) -> Plan:
    """Barrier()"""
    nothing = Blocks(np.empty(0, np.uint8), comm.size)
    rounds = exchange.dissemination_barrier_rounds(comm.rank, comm.size)
    return {}, lambda agent: steps(agent, rounds, nothing, nothing)


def bcast(comm, buf, root=0) -> Plan:
    """Bcast(buf, root)"""
    comm.check_root(root)
    buffer = comm.read(buf, writable=comm.rank != root)
    blocks = Blocks(buffer.raw, 1)
    rounds = tree.binomial_broadcast_rounds(comm.rank, comm.size, root)
    return _signature(buffer, root=root), lambda agent: steps(agent, rounds, blocks, blocks)


def reduce(comm, sendbuf, recvbuf, op=mpi.SUM, root=0) -> Plan:
    """Reduce(sendbuf, recvbuf, op, root)"""
    comm.check_root(root)
    if comm.rank == root:
        recv = comm.read(recvbuf, writable=True)
        send = recv if _in_place(sendbuf) else comm.read(sendbuf)
    else:
        send = comm.read(sendbuf)
        recv = send._replace(raw=send.raw.copy())  # partial sums pass through ranks that may not change their input
    if comm.rank == root and send is not recv:
        _same(send, recv, send.count, recv.count)
    arguments = _signature(send, op=_reducible(send, op), root=root)

    def work(agent):
        if send is not recv:
            recv.raw[:] = send.raw
        blocks = Blocks(recv.typed(), 1)
        yield from steps(agent, tree.binomial_reduce_rounds(comm.rank, comm.size, root), blocks, blocks, op)

    return arguments, work


def allreduce(comm, sendbuf, recvbuf, op=mpi.SUM) -> Plan:
    """Allreduce(sendbuf, recvbuf, op)"""
    recv = comm.read(recvbuf, writable=True)
    send = recv if _in_place(sendbuf) else comm.read(sendbuf)
    if send is not recv:
        _same(send, recv, send.count, recv.count)
    arguments = _signature(recv, op=_reducible(recv, op))
    large = recv.count >= comm.size
    rounds = ring.ring_allreduce_rounds if large else tree.binomial_allreduce_rounds

    def work(agent):
        if send is not recv:
            recv.raw[:] = send.raw
        blocks = Blocks(recv.typed(), comm.size if large else 1)
        yield from steps(agent, rounds(comm.rank, comm.size), blocks, blocks, op)

    return arguments, work


def _allgather(comm, sendbuf, recv: Buffer, blocks: Blocks):
    own = blocks[comm.rank, comm.rank + 1]
    if not _in_place(sendbuf):
        send = comm.read(sendbuf)
        _same(send, recv, send.count, own.size // recv.itemsize)

    def work(agent):
        if not _in_place(sendbuf):
            own[:] = send.raw
        yield from steps(agent, ring.ring_allgather_rounds(comm.rank, comm.size), blocks, blocks)

    return work


def allgather(comm, sendbuf, recvbuf) -> Plan:
    """Allgather(sendbuf, recvbuf)"""
    recv = comm.read(recvbuf, writable=True)
    return _signature(recv), _allgather(comm, sendbuf, recv, _byte_blocks(recv, comm.size))


def allgatherv(comm, sendbuf, recvbuf) -> Plan:
    """Allgatherv(sendbuf, [recvbuf, counts, displs, type])"""
    recv = comm.read(recvbuf, writable=True, ranks=comm.size)
    counts = [int(count) for count in _counts(recv, comm.size)]
    work = _allgather(comm, sendbuf, recv, _byte_blocks(recv, comm.size, counts, recv.displs))
    return {"counts": counts, "dtype": recv.dtype}, work


def _counts(buffer: Buffer, ranks: int) -> Any:
    """Elements a rank, as given, or equal parts as mpi4py assumes."""
    if buffer.counts is None:
        return [_share(buffer, ranks)] * ranks
    if len(buffer.counts) != ranks:
        raise ValueError(f"message: expecting {ranks} counts, got {len(buffer.counts)}")
    return buffer.counts


def _reduce_scatter(comm, sendbuf, recv: Buffer, counts: list[int], op):
    """Ring reduce-scatter on a copy of the input; this rank's block goes to the front of the receive buffer."""
    send = recv if _in_place(sendbuf) else comm.read(sendbuf)
    if send is not recv:
        _same(send, recv, send.count, sum(counts))
    if recv.count < counts[comm.rank] or send.count < sum(counts):
        raise ValueError(f"message: buffers of {send.count} and {recv.count} elements are too small for {counts}")
    arguments = {"op": _reducible(recv, op), "counts": counts, "dtype": recv.dtype}

    def work(agent):
        blocks = Blocks(send.typed().copy(), counts=counts)
        yield from steps(agent, ring.ring_reduce_scatter_rounds(comm.rank, comm.size), blocks, blocks, op)
        recv.typed()[: counts[comm.rank]] = blocks[comm.rank, comm.rank + 1]

    return arguments, work


def reduce_scatter_block(comm, sendbuf, recvbuf, op=mpi.SUM) -> Plan:
    """Reduce_scatter_block(sendbuf, recvbuf, op)"""
    recv = comm.read(recvbuf, writable=True)
    each = _share(recv, comm.size) if _in_place(sendbuf) else recv.count
    return _reduce_scatter(comm, sendbuf, recv, [each] * comm.size, op)


def reduce_scatter(comm, sendbuf, recvbuf, recvcounts=None, op=mpi.SUM) -> Plan:
    """Reduce_scatter(sendbuf, recvbuf, recvcounts, op); without recvcounts the ranks first tell each other theirs."""
    recv = comm.read(recvbuf, writable=True, ranks=comm.size)
    if recvcounts is None:
        recvcounts = _counts(recv, comm.size) if _in_place(sendbuf) else comm.meet("Reduce_scatter", recv.count)
    return _reduce_scatter(comm, sendbuf, recv, [int(count) for count in recvcounts], op)


def scatter(comm, sendbuf, recvbuf, root=0) -> Plan:
    """Scatter(sendbuf, recvbuf, root)"""
    comm.check_root(root)
    recv = None if comm.rank == root and _in_place(recvbuf) else comm.read(recvbuf, writable=True)
    send = comm.read(sendbuf) if comm.rank == root else recv
    source = _byte_blocks(send, comm.size) if comm.rank == root else Blocks(recv.raw, 1)
    part = send._replace(raw=source[comm.rank, comm.rank + 1]) if comm.rank == root else recv
    if comm.rank == root and recv is not None:
        _same(part, recv, part.count, recv.count)

    def work(agent):
        if comm.rank == root and recv is not None:
            recv.raw[:] = part.raw
        rounds = exchange.linear_scatter_rounds(comm.rank, comm.size, root)
        yield from steps(agent, rounds, source, source)

    return _signature(part, root=root), work


def gather(comm, sendbuf, recvbuf, root=0) -> Plan:
    """Gather(sendbuf, recvbuf, root)"""
    comm.check_root(root)
    send = None if comm.rank == root and _in_place(sendbuf) else comm.read(sendbuf)
    recv = comm.read(recvbuf, writable=True) if comm.rank == root else send
    target = _byte_blocks(recv, comm.size) if comm.rank == root else Blocks(send.raw, 1)
    part = recv._replace(raw=target[comm.rank, comm.rank + 1]) if comm.rank == root else send
    if comm.rank == root and send is not None:
        _same(send, part, send.count, part.count)

    def work(agent):
        if comm.rank == root and send is not None:
            part.raw[:] = send.raw
        rounds = exchange.linear_gather_rounds(comm.rank, comm.size, root)
        yield from steps(agent, rounds, target, target)

    return _signature(part, root=root), work


def _alltoall(comm, send: Buffer, recv: Buffer, source: Blocks, target: Blocks):
    mine = (comm.rank, comm.rank + 1)
    _same(send, recv, source[mine].size, target[mine].size)

    def work(agent):
        target[mine][:] = source[mine]
        yield from steps(agent, exchange.pairwise_alltoall_rounds(comm.rank, comm.size), source, target)

    return work


def alltoall(comm, sendbuf, recvbuf) -> Plan:
    """Alltoall(sendbuf, recvbuf)"""
    recv = comm.read(recvbuf, writable=True)
    send = recv._replace(raw=recv.raw.copy()) if _in_place(sendbuf) else comm.read(sendbuf)
    work = _alltoall(comm, send, recv, _byte_blocks(send, comm.size), _byte_blocks(recv, comm.size))
    return _signature(recv), work


def alltoallv(comm, sendbuf, recvbuf) -> Plan:
    """Alltoallv([sendbuf, counts, displs, type], [recvbuf, counts, displs, type])"""
    recv = comm.read(recvbuf, writable=True, ranks=comm.size)
    if _in_place(sendbuf):
        send = recv._replace(raw=recv.raw.copy())
    else:
        send = comm.read(sendbuf, ranks=comm.size)
    source = _byte_blocks(send, comm.size, _counts(send, comm.size), send.displs)
    target = _byte_blocks(recv, comm.size, _counts(recv, comm.size), recv.displs)
    return {"dtype": recv.dtype}, _alltoall(comm, send, recv, source, target)


PLANS: dict[str, Callable[..., Plan]] = {
    "Barrier": barrier,
    "Bcast": bcast,
    "Reduce": reduce,
    "Allreduce": allreduce,
    "Allgather": allgather,
    "Allgatherv": allgatherv,
    "Reduce_scatter": reduce_scatter,
    "Reduce_scatter_block": reduce_scatter_block,
    "Scatter": scatter,
    "Gather": gather,
    "Alltoall": alltoall,
    "Alltoallv": alltoallv,
}
