"""One-sided calls under way: their transfers, and the buffers that the program must leave alone meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import index
from typing import Any, NamedTuple

import numpy as np

from ... import mpi
from ...collectives import operations
from ..buffers import Buffer
from .completion import Completion
from .epochs import refused

Pair = tuple[np.ndarray, np.ndarray]


class Leg(NamedTuple):
    """One transfer of a one-sided call: to the target or back from it, how much, and what happens when it is there."""

    outward: bool
    nbytes: int
    arrive: Callable[[], Any]


class Access(Completion):
    """A one-sided call under way, complete when its last transfer has arrived.

    `watched` holds buffers (bytes) of the program, each with a copy of what was in it. They must not change until the
    program has learned that the call is complete, from a flush, from the end of the epoch or from its request. Only
    then do the buffers in `into` get what came for them, so whoever looks earlier sees the old values.
    """

    __slots__ = ("rank", "call", "watched", "into")

    def __init__(self, me: Any, watched: list[Pair], into: list[Pair]):
        super().__init__()
        self.rank, self.call = me.index, me.call
        self.watched, self.into = watched, into

    def changed(self) -> bool:
        """Whether the program has changed one of the buffers."""
        return any(not np.array_equal(buffer, before) for buffer, before in self.watched)

    def take_delivery(self) -> None:
        """The program learns that the call is complete; a second time nothing happens."""
        for buffer, parcel in self.into:
            buffer[:] = parcel
        self.watched, self.into = [], []


class Target(NamedTuple):
    """The piece of the target's memory that is meant, as mpi4py reads it: displacement, elements, their type."""

    displacement: int
    elements: int
    dtype: str
    itemsize: int


def as_target(spec: Any, data: Buffer) -> Target:
    """None, a displacement, (displacement, count) or (displacement, count, type); what is not given is the origin's."""
    like = Target(0, data.count, data.dtype, data.itemsize)
    if spec is None:
        return like
    if hasattr(spec, "__index__"):
        return like._replace(displacement=index(spec))
    if not isinstance(spec, list | tuple):
        raise ValueError("target: expecting integral or list/tuple")
    if len(spec) > 3:
        raise ValueError("target: expecting 3 items at most")
    numbers = like
    if spec:
        numbers = numbers._replace(displacement=index(spec[0]))
    if len(spec) > 1:
        numbers = numbers._replace(elements=index(spec[1]))
    if len(spec) < 3:
        return numbers
    layout = mpi.datatype(spec[2]).known()
    if not layout.dense:
        raise mpi.NotOffered("target: elements with gaps between them are not offered: begin a call for each block")
    elements = numbers.elements * len(layout.offsets)
    return numbers._replace(elements=elements, dtype=layout.code, itemsize=layout.itemsize)


def piece(memory: np.ndarray, unit: int, target: Target, data: Buffer) -> np.ndarray:
    """The target's bytes (a view). mpi.Exception if they lie outside of the memory, or are of another type."""
    if target.elements < 0:
        raise refused(mpi.ERR_COUNT, f"{target.elements} elements of the target")
    if target.displacement < 0:
        raise refused(mpi.ERR_DISP, f"displacement {target.displacement}")
    if target.dtype != data.dtype and target.elements and data.count:
        raise refused(mpi.ERR_TYPE, f"elements of the target are {target.dtype}, of the origin {data.dtype}")
    start, nbytes = target.displacement * unit, target.elements * target.itemsize
    if start + nbytes > memory.size:
        raise refused(mpi.ERR_RMA_RANGE, f"bytes {start} to {start + nbytes} of a window of {memory.size}")
    return memory[start : start + nbytes]


def fits(source: int, room: int) -> int:
    """`source`, the bytes that move; mpi.Exception unless there is room for them."""
    if source > room:
        raise refused(mpi.ERR_TRUNCATE, f"{source} bytes for {room}")
    return source


def single(what: str, data: Buffer) -> Buffer:
    """The buffer, if it holds one element; mpi4py's exception else."""
    if data.count != 1:
        raise ValueError(f"{what}: expecting a single element, got {data.count}")
    return data


def alike(what: str, data: Buffer, other: Buffer) -> None:
    """mpi4py's check of a call's own buffers, and MPI's that they are not one."""
    if (other.dtype, other.raw.size) != (data.dtype, data.raw.size):
        raise ValueError(f"mismatch in origin and {what} MPI datatypes")


def combiner(data: Buffer, op: Any) -> Callable[[np.ndarray], None]:
    """What combines `data`, as it is now, into memory (bytes) of the same size; mpi.Exception if `op` does not fit."""
    if op == mpi.NO_OP:
        return lambda there: None
    own = replace(data, raw=data.raw.copy())
    if op == mpi.REPLACE:
        return lambda there: np.copyto(there, own.raw)
    if data.dtype == "bfloat16" or np.dtype(data.dtype).kind not in operations.kinds(op):
        raise mpi.Exception(mpi.ERR_OP)
    return lambda there: operations.combiner(op, own.typed())(there.view(data.dtype), own.typed())
