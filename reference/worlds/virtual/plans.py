"""The virtual cluster's own collectives: MPI's upper-case calls over the course's rounds.

Every call is a plan: a function with mpi4py's signature that reads its buffers and returns the arguments in which all
ranks must agree, and a generator that yields the requests of one round after the other (collective.py).

    Barrier dissemination · Bcast, Reduce binomial tree · Allreduce ring, tree if there is less than an element a rank
    Allgather(v), Reduce_scatter(_block) ring · Alltoall(v) pairwise · Scatter(v), Gather(v) linear
    an operation that does not commute: Reduce and the others gather at one rank, which folds in the order of ranks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...collectives import exchange, ring, tree
from ...collectives.rounds import Blocks, steps
from ..buffers import Buffer
from .collective import Plan, in_place, into, same, signature
from .reductions import allreduce, reduce, reduce_scatter, reduce_scatter_block


def _byte_blocks(buffer: Buffer, ranks: int) -> Blocks:
    """A block a rank, in bytes: those of a v-call, or equal ones."""
    counts = [buffer.count // ranks] * ranks if buffer.counts is None else buffer.counts
    size = buffer.itemsize
    scaled = None if buffer.displs is None else [displ * size for displ in buffer.displs]
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
    work = into(None if comm.rank == root else buffer, lambda agent: steps(agent, rounds, blocks, blocks))
    return signature(buffer, root=root), work


def _allgather(comm, sendbuf, recv: Buffer):
    blocks = _byte_blocks(recv, comm.size)
    own = blocks[comm.rank, comm.rank + 1]
    if not in_place(sendbuf):
        send = comm.read(sendbuf)
        same(send, recv, send.count, own.size // recv.itemsize)

    def work(agent):
        if not in_place(sendbuf):
            own[:] = send.raw
        yield from steps(agent, ring.ring_allgather_rounds(comm.rank, comm.size), blocks, blocks)

    return into(recv, work)


def allgather(comm, sendbuf, recvbuf) -> Plan:
    """Allgather(sendbuf, recvbuf)"""
    recv = comm.read(recvbuf, True, comm.size)
    return signature(recv), _allgather(comm, sendbuf, recv)


def allgatherv(comm, sendbuf, recvbuf) -> Plan:
    """Allgatherv(sendbuf, [recvbuf, counts, displs, type])"""
    recv = comm.read_vector(recvbuf, comm.size, True)
    return {"counts": recv.counts, "dtype": recv.dtype}, _allgather(comm, sendbuf, recv)


def _scatter(comm, send: Buffer | None, recv: Buffer | None, root: int):
    """`send` has a block for each rank, at the root; `recv` is None where the root leaves its own where it is."""
    source = Blocks(recv.raw, 1) if send is None else _byte_blocks(send, comm.size)
    own = source[comm.rank, comm.rank + 1] if comm.rank == root else recv.raw
    if comm.rank == root and recv is not None:
        same(replace(send, raw=own), recv, own.size // send.itemsize, recv.count)

    def work(agent):
        if comm.rank == root and recv is not None:
            recv.raw[:] = own
        rounds = exchange.linear_scatter_rounds(comm.rank, comm.size, root)
        yield from steps(agent, rounds, source, source)

    return into(recv, work)


def scatter(comm, sendbuf, recvbuf, root=0) -> Plan:
    """Scatter(sendbuf, recvbuf, root)"""
    comm.check_root(root)
    send = comm.read(sendbuf, blocks=comm.size) if comm.rank == root else None
    recv = None if comm.rank == root and in_place(recvbuf) else comm.read(recvbuf, writable=True)
    part = recv or replace(send, raw=send.raw[: send.raw.size // comm.size])
    return signature(part, root=root), _scatter(comm, send, recv, root)


def scatterv(comm, sendbuf, recvbuf, root=0) -> Plan:
    """Scatterv([sendbuf, counts, displs, type], recvbuf, root)"""
    comm.check_root(root)
    send = comm.read_vector(sendbuf, comm.size) if comm.rank == root else None
    recv = None if comm.rank == root and in_place(recvbuf) else comm.read(recvbuf, writable=True)
    return {"dtype": (recv or send).dtype, "root": root}, _scatter(comm, send, recv, root)


def _gather(comm, send: Buffer | None, recv: Buffer | None, root: int):
    """`recv` has a block for each rank, at the root; `send` is None where the root has its own there already."""
    target = Blocks(send.raw, 1) if recv is None else _byte_blocks(recv, comm.size)
    own = target[comm.rank, comm.rank + 1] if comm.rank == root else None
    if comm.rank == root and send is not None:
        same(send, replace(recv, raw=own), send.count, own.size // recv.itemsize)

    def work(agent):
        if comm.rank == root and send is not None:
            own[:] = send.raw
        rounds = exchange.linear_gather_rounds(comm.rank, comm.size, root)
        yield from steps(agent, rounds, target, target)

    return into(recv, work)


def gather(comm, sendbuf, recvbuf, root=0) -> Plan:
    """Gather(sendbuf, recvbuf, root)"""
    comm.check_root(root)
    recv = comm.read(recvbuf, True, comm.size) if comm.rank == root else None
    send = None if comm.rank == root and in_place(sendbuf) else comm.read(sendbuf)
    part = send or replace(recv, raw=recv.raw[: recv.raw.size // comm.size])
    return signature(part, root=root), _gather(comm, send, recv, root)


def gatherv(comm, sendbuf, recvbuf, root=0) -> Plan:
    """Gatherv(sendbuf, [recvbuf, counts, displs, type], root)"""
    comm.check_root(root)
    recv = comm.read_vector(recvbuf, comm.size, True) if comm.rank == root else None
    send = None if comm.rank == root and in_place(sendbuf) else comm.read(sendbuf)
    return {"dtype": (send or recv).dtype, "root": root}, _gather(comm, send, recv, root)


def _alltoall(comm, send: Buffer, recv: Buffer):
    source, target = _byte_blocks(send, comm.size), _byte_blocks(recv, comm.size)
    mine = (comm.rank, comm.rank + 1)
    same(send, recv, source[mine].size, target[mine].size)

    def work(agent):
        target[mine][:] = source[mine]
        yield from steps(agent, exchange.pairwise_alltoall_rounds(comm.rank, comm.size), source, target)

    return into(recv, work)


def alltoall(comm, sendbuf, recvbuf) -> Plan:
    """Alltoall(sendbuf, recvbuf)"""
    recv = comm.read(recvbuf, True, comm.size)
    send = replace(recv, raw=recv.raw.copy()) if in_place(sendbuf) else comm.read(sendbuf, blocks=comm.size)
    return signature(recv), _alltoall(comm, send, recv)


def alltoallv(comm, sendbuf, recvbuf) -> Plan:
    """Alltoallv([sendbuf, counts, displs, type], [recvbuf, counts, displs, type])"""
    recv = comm.read_vector(recvbuf, comm.size, True)
    send = replace(recv, raw=recv.raw.copy()) if in_place(sendbuf) else comm.read_vector(sendbuf, comm.size)
    return {"dtype": recv.dtype}, _alltoall(comm, send, recv)


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
    "Scatterv": scatterv,
    "Gather": gather,
    "Gatherv": gatherv,
    "Alltoall": alltoall,
    "Alltoallv": alltoallv,
}
