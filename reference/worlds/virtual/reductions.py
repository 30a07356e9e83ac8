"""The plans of MPI's reductions: Reduce, Allreduce, Reduce_scatter(_block); the others are in plans.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ... import mpi
from ...collectives import exchange, operations, ring, tree
from ...collectives.rounds import Blocks, steps
from ..buffers import Buffer, as_buffer, one_a_rank
from .collective import Agent, Plan, in_place, into, same, signature


def _reducible(buffer: Buffer, op) -> str:
    """The name of the operation; mpi.Exception if MPI does not define it for such elements."""
    if buffer.derived:
        raise mpi.Exception(mpi.ERR_OP)
    kinds = operations.kinds(op)
    if kinds != operations.ANY and (buffer.dtype == "bfloat16" or np.dtype(buffer.dtype).kind not in kinds):
        raise mpi.Exception(mpi.ERR_OP)
    return operations.name(op)


def _in_order(comm, op: Any, into: np.ndarray, send: np.ndarray, root: int) -> Callable[[Agent], Iterator[list]]:
    """What every rank sends, folded in the order of ranks at the root: for an operation that does not commute."""

    def work(agent: Agent) -> Iterator[list]:
        size = len(send) if comm.rank == root else 0
        gathered = np.empty(size * comm.size, send.dtype)
        parts = Blocks(gathered, comm.size) if comm.rank == root else Blocks(send, 1)
        yield from steps(agent, exchange.linear_gather_rounds(comm.rank, comm.size, root), parts, parts)
        if comm.rank == root:
            gathered[root * size : (root + 1) * size] = send
            combine = operations.combiner(op, into)
            into[:] = gathered[:size]
            for rank in range(1, comm.size):
                combine(into, gathered[rank * size : (rank + 1) * size])
            agent.compute(reduced=into.nbytes * (comm.size - 1))

    return work


def reduce(comm, sendbuf, recvbuf, op=mpi.SUM, root=0) -> Plan:
    """Reduce(sendbuf, recvbuf, op, root)"""
    comm.check_root(root)
    if comm.rank == root:
        recv = comm.read(recvbuf, writable=True)
        send = recv if in_place(sendbuf) else comm.read(sendbuf)
    else:
        send = comm.read(sendbuf)
        # partial sums pass through ranks that may not change their input
        recv = replace(send, raw=send.raw.copy(), scattered=None)
    if comm.rank == root and send is not recv:
        same(send, recv, send.count, recv.count)
    arguments = signature(send, op=_reducible(send, op), root=root)

    def work(agent):
        if not op.Is_commutative():
            yield from _in_order(comm, op, recv.typed(), send.typed(), root)(agent)
            return
        if send is not recv:
            recv.raw[:] = send.raw
        blocks = Blocks(recv.typed(), 1)
        yield from steps(agent, tree.binomial_reduce_rounds(comm.rank, comm.size, root), blocks, blocks, op)

    return arguments, into(recv, work)


def allreduce(comm, sendbuf, recvbuf, op=mpi.SUM) -> Plan:
    """Allreduce(sendbuf, recvbuf, op)"""
    recv = comm.read(recvbuf, writable=True)
    send = recv if in_place(sendbuf) else comm.read(sendbuf)
    if send is not recv:
        same(send, recv, send.count, recv.count)
    arguments = signature(recv, op=_reducible(recv, op))
    large = recv.count >= comm.size
    rounds = ring.ring_allreduce_rounds if large else tree.binomial_allreduce_rounds

    def work(agent):
        if not op.Is_commutative():
            yield from _in_order(comm, op, recv.typed(), send.typed(), 0)(agent)
            whole = Blocks(recv.raw, 1)
            yield from steps(agent, tree.binomial_broadcast_rounds(comm.rank, comm.size), whole, whole)
            return
        if send is not recv:
            recv.raw[:] = send.raw
        blocks = Blocks(recv.typed(), comm.size if large else 1)
        yield from steps(agent, rounds(comm.rank, comm.size), blocks, blocks, op)

    return arguments, into(recv, work)


def _reduce_scatter(comm, send: Buffer, recv: Buffer, counts: list[int], op):
    """Ring reduce-scatter on a copy of the input; this rank's block goes to the front of the receive buffer."""
    arguments = {"op": _reducible(recv, op), "counts": counts, "dtype": recv.dtype}

    def work(agent):
        blocks = Blocks(send.typed().copy(), counts=counts)
        if op.Is_commutative():
            yield from steps(agent, ring.ring_reduce_scatter_rounds(comm.rank, comm.size), blocks, blocks, op)
        else:
            yield from _in_order(comm, op, blocks.array, send.typed(), 0)(agent)
            whole = Blocks(blocks.array, 1)
            yield from steps(agent, tree.binomial_broadcast_rounds(comm.rank, comm.size), whole, whole)
        recv.store(blocks[comm.rank, comm.rank + 1].view(np.uint8))

    return arguments, work


def reduce_scatter_block(comm, sendbuf, recvbuf, op=mpi.SUM) -> Plan:
    """Reduce_scatter_block(sendbuf, recvbuf, op)"""
    if in_place(sendbuf):
        send = recv = comm.read(recvbuf, True, comm.size)
    else:
        recv, send = comm.read(recvbuf, writable=True), comm.read(sendbuf, blocks=comm.size)
        same(send, recv, send.count // comm.size, recv.count)
    return _reduce_scatter(comm, send, recv, [send.count // comm.size] * comm.size, op)


def reduce_scatter(comm, sendbuf, recvbuf, recvcounts=None, op=mpi.SUM) -> Plan:
    """Reduce_scatter(sendbuf, recvbuf, recvcounts, op); without recvcounts the ranks first tell each other theirs."""
    recv = comm.read(recvbuf, writable=True)
    send = recv if in_place(sendbuf) else comm.read(sendbuf)
    if recvcounts is None and send is not recv:
        recvcounts = comm.meet("Reduce_scatter", recv.count)
    counts = one_a_rank(recvcounts, comm.size)
    if send is recv and recv.count != sum(counts):
        raise ValueError(f"mismatch in receive count {recv.count} and sum(counts) {sum(counts)}")
    if send is not recv:
        same(send, recv, send.count, sum(counts))
        if recv.count != counts[comm.rank]:
            raise ValueError(f"mismatch in receive count {recv.count} and counts[{comm.rank}] {counts[comm.rank]}")
    return _reduce_scatter(comm, send, recv, counts, op)


def reduce_local(op: mpi.Op, inbuf: Any, inoutbuf: Any) -> None:
    """Behind op.Reduce_local where MPI does not run: inoutbuf = inbuf op inoutbuf."""
    target, other = as_buffer(inoutbuf, writable=True), as_buffer(inbuf)
    same(other, target, other.count, target.count)
    _reducible(target, op)
    operations.combiner(op, target.typed())(target.typed(), other.typed(), other_first=True)
    if target.scattered:
        target.store(target.raw)


mpi.Op.reduce_local = staticmethod(reduce_local)
