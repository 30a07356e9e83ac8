"""What a program may hand to an upper-case call, read as mpi4py reads it: the one place for both worlds.

A buffer is an array, a tensor or any other memory, or a list of it with what is meant (msgbuffer.pxi of mpi4py 4.1):

    of a message      x · [x, type] · [x, count] · [x, (count, displ)] · [x, count, type] · [x, (count, displ), type]
                      · [x, count, displ, type]; of a call with a block for each rank, count is that of one block
    of a v-call       the same with counts and displs for each rank: lists, one number for all (displs: a stride), or
                      None: equal parts, one behind the other

A type is a datatype of reference.mpi or a typecode ("d"); counts and displacements are in items of it. Without a count
it is all that is there. None stands for no memory, and then a type is needed.

What mpi4py refuses is refused here with the same exceptions, tensors that need gradients or memory that is not
contiguous by mpi4py's own `MPI.buffer`, which needs no running MPI. A count or displacement that goes past the memory
is refused, too: there mpi4py would read or write what is not the program's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from operator import index
from typing import Any

import numpy as np

from .. import mpi
from .memory import NOTHING, Buffer, Scattered, as_bytes, element_type, has_buffer, is_bottom, layout_of, lent

__all__ = ["NOTHING", "Buffer", "as_buffer", "as_contiguous", "as_vector", "one_a_rank"]
_BYTE = np.dtype(np.uint8)


def as_buffer(spec: Any, writable: bool = False, blocks: int = 1) -> Buffer:
    """The Buffer of one message, or of one block for each of `blocks` ranks."""
    if type(spec) is np.ndarray and (flags := spec.flags).c_contiguous and (flags.writeable or not writable):
        code, size = element_type(spec.dtype)  # the common case, without the detour
        flat = spec if spec.ndim == 1 else spec.reshape(-1)
        if blocks > 1:
            _whole(flat.size, blocks, "number of entries")
        return Buffer(flat.view(_BYTE), code, size)
    if (known := lent(spec)) is not None:  # nearly as common
        code, size = element_type(spec.dtype)
        if blocks > 1:
            _whole(known.size // size, blocks, "number of entries")
        return Buffer(known, code, size)
    memory, count, displ, layout = _parts(spec, writable)
    displ = 0 if displ is None else index(displ)
    if displ < 0:
        raise ValueError(f"message: negative displacement {displ}")
    if displ and displ * _extent(layout) > memory.size:
        raise ValueError(
            f"message: displacement {displ} out of bounds, number of datatype entries {memory.size // layout.extent}"
        )
    if count is None:
        count = _whole(_entries(memory.size - displ * layout.extent, layout), blocks, "number of entries") // blocks
    buffer = _items(memory, layout, [(displ, _not_negative(index(count)) * blocks)])
    return replace(buffer, derived=True) if len(layout.offsets) != 1 or layout.extent != layout.itemsize else buffer


def as_contiguous(spec: Any, writable: bool = False) -> Buffer:
    """as_buffer for calls that take no elements with gaps between them."""
    buffer = as_buffer(spec, writable)
    if buffer.scattered is not None:
        raise mpi.NotOffered("this call takes elements one behind the other: copy them (np.ascontiguousarray)")
    return buffer


def as_vector(spec: Any, ranks: int, writable: bool = False) -> Buffer:
    """The Buffer of a v-call, with counts and displs for each of `ranks` ranks."""
    memory, counts, displs, layout = _parts(spec, writable, pair=(tuple,))
    if counts is None:
        entries = _entries(memory.size, layout)
        counts = [entries // ranks + (entries % ranks > rank) for rank in range(ranks)]
    counts = [_not_negative(count) for count in one_a_rank(counts, ranks, lambda count: [count] * ranks)]
    if displs is None:
        displs = _one_after_the_other(counts)
    displs = one_a_rank(displs, ranks, lambda stride: [stride * rank for rank in range(ranks)])
    each = len(layout.offsets)
    whole = _items(memory, layout, list(zip(displs, counts, strict=True)), apart=layout.dense)
    counts = [count * each for count in counts]
    starts = [displ * each for displ in displs] if layout.dense else _one_after_the_other(counts)
    return replace(whole, counts=counts, displs=starts)


def _parts(spec: Any, writable: bool, pair: tuple = (tuple, list)) -> tuple[np.ndarray, Any, Any, Any]:
    """(memory as bytes, count or counts, displacement or displacements, layout) as a specification gives them."""
    count = displ = kind = None
    obj = spec
    if isinstance(spec, list | tuple):
        if not 2 <= len(spec) <= 4:
            raise ValueError(f"message: expecting 2 to 4 items, got {len(spec)}")
        if len(spec) == 2:
            obj, count = spec
            if isinstance(count, str) or hasattr(count, "Get_extent"):
                count, kind = None, count
        elif len(spec) == 3:
            obj, count, kind = spec
        else:
            obj, count, displ, kind = spec
        if isinstance(count, pair) and len(spec) < 4:
            count, displ = count
    elif not (hasattr(spec, "__dlpack__") or has_buffer(spec) or hasattr(spec, "__cuda_array_interface__")):
        raise TypeError("message: expecting buffer or list/tuple")
    if obj is None or is_bottom(obj):
        return _nomemory(obj, count, mpi.datatype(kind))
    raw = as_bytes(obj, writable)
    if kind is None:
        return raw, count, displ, layout_of(obj)
    datatype = mpi.datatype(kind)
    if not datatype.committed:
        if not datatype:
            raise ValueError("message: datatype is null")
        raise mpi.Exception(mpi.ERR_TYPE)
    return raw, count, displ, datatype.known()


def _nomemory(obj: Any, count: Any, datatype: Any) -> tuple[np.ndarray, Any, Any, Any]:
    """None and BOTTOM in the place of memory."""
    for number in count if isinstance(count, list) else [count]:
        if number is not None and index(number) > 0:
            if obj is not None:
                raise mpi.NotOffered("BOTTOM (absolute addresses) is not offered: give the buffer itself")
            raise ValueError(f"message: buffer is None but count is {number}")
    return NOTHING.raw, count, None, datatype.known()


def _items(memory: np.ndarray, layout: Any, blocks: list[tuple[int, int]], apart: bool = False) -> Buffer:
    """The Buffer of some blocks (first item, number of items) of the memory; with `apart`, of the memory as a whole."""
    for first, count in blocks:
        _check_inside(memory, layout, first, count)
    code, size = layout.code, layout.itemsize
    if apart:
        return Buffer(memory[: memory.size // size * size], code, size)
    if layout.dense:
        ((first, count),) = blocks
        return Buffer(memory[first * layout.extent : (first + count) * layout.extent], code, size)
    places = np.concatenate([layout.places(count, first) for first, count in blocks])
    unit = 1 if (places % size).any() or memory.size % size else size
    view = memory.view(f"V{unit}") if memory.size else memory
    where = (places[:, None] + np.arange(0, size, unit)).ravel() // unit
    scattered = Scattered(view, where)
    return Buffer(scattered.gather(), code, size, scattered=scattered)


def _check_inside(memory: np.ndarray, layout: Any, first: int, count: int) -> None:
    """ValueError unless all elements of those items lie in the memory."""
    if count == 0 or not len(layout.offsets):
        return
    if layout.dense:
        lowest, highest = first * layout.extent, (first + count) * layout.extent
    else:
        edges = np.array([first, first + count - 1]) * layout.extent
        lowest = int(edges.min() + layout.offsets.min())
        highest = int(edges.max() + layout.offsets.max()) + layout.itemsize
    if lowest < 0 or highest > memory.size:
        raise ValueError(
            f"message: {count} items from displacement {first} on take bytes {lowest} to {highest} of a buffer that "
            f"has {memory.size}: give the count and displacement in items of the datatype"
        )


def _extent(layout: Any) -> int:
    """The extent, by which counts and displacements are found; ValueError if it is not positive."""
    if layout.extent <= 0:
        upper = layout.lower + layout.extent
        raise ValueError(
            f"message: cannot infer count, datatype extent {layout.extent} (lb:{layout.lower}, ub:{upper})"
        )
    return layout.extent


def _entries(nbytes: int, layout: Any) -> int:
    """How many items those bytes are; ValueError if it is not a whole number."""
    return nbytes and _whole(nbytes, _extent(layout), "buffer length") // layout.extent


def _one_after_the_other(counts: list[int]) -> list[int]:
    return [0, *accumulate(counts)][:-1]


def _whole(amount: int, unit: int, what: str) -> int:
    """The amount; ValueError unless it is a whole number of units."""
    if amount % unit:
        raise ValueError(f"message: cannot infer count, {what} {amount} is not a multiple of {unit}")
    return amount


def _not_negative(count: int) -> int:
    if count < 0:
        raise ValueError(f"message: negative count {count}")
    return count


def one_a_rank(numbers: Any, ranks: int, spread: Callable[[int], list[int]] | None = None) -> list[int]:
    """Whole numbers, one for each rank; a single one is spread, where that is allowed."""
    if spread and hasattr(numbers, "__index__") and np.ndim(numbers) == 0:
        return spread(index(numbers))
    listed = [index(number) for number in numbers]
    if len(listed) != ranks:
        raise ValueError(f"expecting {ranks} items, got {len(listed)}")
    return listed
