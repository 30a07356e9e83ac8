"""The lower-case collectives: pickled objects of any size, along the same trees and lines.

Each is a generator over an Agent's messages that returns the result; a reduction folds in the order of the ranks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator
from functools import reduce as fold
from typing import Any

import numpy as np

from ... import mpi
from ...collectives.tree import binomial_broadcast_rounds
from ..buffers import Buffer
from .collective import Agent


def pack(obj: Any) -> Buffer:
    """The object's pickle as a buffer of bytes."""
    return Buffer(np.frombuffer(pickle.dumps(obj, pickle.HIGHEST_PROTOCOL), np.uint8), "u1", 1)


def unpack(parcel: np.ndarray) -> Any:
    """The object behind the bytes; of a message without any, None."""
    return pickle.loads(parcel.tobytes()) if parcel.size else None


def barrier(agent: Agent) -> Generator[list, None, Any]:
    """barrier()"""
    yield from gather(agent, None)
    yield from bcast(agent, None)


def bcast(agent: Agent, obj: Any, root: int = 0) -> Generator[list, None, Any]:
    """bcast(obj, root): the root's object, on every rank."""
    buffer = pack(obj) if agent.rank == root else None
    for to, _, source, *_ in binomial_broadcast_rounds(agent.rank, agent.size, root):
        if source != mpi.PROC_NULL:
            request = agent.Irecv(None, source)
            yield [request]
            buffer = Buffer(request.parcel, "u1", 1)
        elif to != mpi.PROC_NULL:
            yield [agent.send(buffer, to)]
    return obj if agent.rank == root else unpack(buffer.raw)


def gather(agent: Agent, sendobj: Any, root: int = 0) -> Generator[list, None, Any]:
    """gather(sendobj, root): at the root the list of all objects, else None."""
    if agent.rank != root:
        yield [agent.send(pack(sendobj), root)]
        return None
    requests = {other: agent.Irecv(None, other) for other in range(agent.size) if other != root}
    if requests:
        yield list(requests.values())
    copy = unpack(pack(sendobj).raw)
    return [copy if rank == root else unpack(requests[rank].parcel) for rank in range(agent.size)]


def scatter(agent: Agent, sendobj: Any, root: int = 0) -> Generator[list, None, Any]:
    """scatter(sendobj, root): element r of the root's list, on rank r."""
    if agent.rank == root:
        sendobj = _one_a_rank(agent, sendobj)
    else:
        request = agent.Irecv(None, root)
        yield [request]
        return unpack(request.parcel)
    others = [other for other in range(agent.size) if other != root]
    if others:
        yield [agent.send(pack(sendobj[other]), other) for other in others]
    return unpack(pack(sendobj[root]).raw)


def allgather(agent: Agent, sendobj: Any) -> Generator[list, None, Any]:
    """allgather(sendobj): the list of all objects, on every rank."""
    return (yield from bcast(agent, (yield from gather(agent, sendobj))))


def alltoall(agent: Agent, sendobj: Any) -> Generator[list, None, Any]:
    """alltoall(sendobj): the list of what every rank had at this rank's place."""
    sendobj = _one_a_rank(agent, sendobj)
    received = [unpack(pack(sendobj[agent.rank]).raw)] * agent.size
    for distance in range(1, agent.size):
        to, source = (agent.rank + distance) % agent.size, (agent.rank - distance) % agent.size
        request = agent.Irecv(None, source)
        yield [request, agent.send(pack(sendobj[to]), to)]
        received[source] = unpack(request.parcel)
    return received


def reduce(agent: Agent, sendobj: Any, op: Callable = mpi.SUM, root: int = 0) -> Generator[list, None, Any]:
    """reduce(sendobj, op, root): all objects combined in the order of the ranks, at the root."""
    objects = yield from gather(agent, sendobj, root)
    return None if objects is None else fold(op, objects)


def allreduce(agent: Agent, sendobj: Any, op: Callable = mpi.SUM) -> Generator[list, None, Any]:
    """allreduce(sendobj, op): all objects combined, on every rank."""
    return (yield from bcast(agent, (yield from reduce(agent, sendobj, op))))


def _one_a_rank(agent: Agent, objects: Any) -> list:
    objects = list(objects)
    if len(objects) != agent.size:
        raise ValueError(f"expecting {agent.size} items, got {len(objects)}")
    return objects


OBJECT_COLLECTIVES = {f.__name__: f for f in (barrier, bcast, gather, scatter, allgather, alltoall, reduce, allreduce)}
