"""What a program may hand to an upper-case call, read as mpi4py reads it.

A buffer is an array or tensor, or a list of it with a count, counts and displacements, or an MPI datatype:
`x`, `[x, type]`, `[x, count]`, `[x, count, type]`, `[x, counts]`, `[x, (counts, displs), type]`,
`[x, counts, displs, type]`. What mpi4py refuses is refused here by mpi4py's own `MPI.buffer`, which needs no running
MPI: tensors that need gradients, memory that is not contiguous or not writable, things that are not buffers.
"""

from __future__ import annotations

from functools import cache
from operator import index
from typing import Any, NamedTuple

import numpy as np

from .. import mpi


class Buffer(NamedTuple):
    """Memory of one message: `raw` as bytes (uint8 array, a view), its element type and size, counts and displs."""

    raw: np.ndarray
    dtype: str
    itemsize: int
    counts: Any = None  # elements a rank, where the caller gave them
    displs: Any = None

    @property
    def count(self) -> int:  # type: ignore[override]  # a tuple's own count() is of no use here
        """Number of elements."""
        return self.raw.size // self.itemsize

    def typed(self) -> np.ndarray:
        """The same memory as an array of its element type (a view)."""
        return self.raw.view(self.dtype)


NOTHING = Buffer(np.empty(0, np.uint8), "u1", 1)


@cache
def element_type(dtype: Any) -> tuple[str, int]:
    """NumPy's code and size of a NumPy or torch dtype; KeyError for what MPI has no type for."""
    name = str(dtype).removeprefix("torch.")
    if name == "bfloat16":  # NumPy has no such type: it can be moved, not reduced
        return name, 2
    kind = dtype if isinstance(dtype, np.dtype) else np.dtype(name)
    if not kind.isnative:
        raise BufferError("DLPack only supports native byte order")
    if kind.kind not in "biufc":
        raise KeyError(f"cannot map {kind.char!r} to MPI datatype")
    return kind.str.lstrip("<=|"), kind.itemsize


def as_buffer(spec: Any, writable: bool = False, ranks: int | None = None) -> Buffer:
    """The Buffer behind what the program passed; mpi4py's exceptions for what it refuses.

    With `ranks`, counts and displacements are given for each of that many ranks; else for one message.
    """
    if type(spec) is np.ndarray and spec.flags.c_contiguous and (spec.flags.writeable or not writable):
        code, size = element_type(spec.dtype)
        return Buffer(spec.reshape(-1).view(np.uint8), code, size)  # the common case, without the detour
    counts = displs = datatype = None
    if isinstance(spec, list | tuple):
        if not 2 <= len(spec) <= 4:
            raise ValueError(f"message: expecting 2 to 4 items, got {len(spec)}")
        obj, *rest = spec
        if isinstance(rest[-1], mpi.Datatype):
            datatype = rest.pop()
        if len(rest) == 1 and isinstance(rest[0], tuple) and len(rest[0]) == 2 and not _is_counts(rest[0], ranks):
            rest = list(rest[0])
        counts, displs = (*rest, None, None)[:2]
    else:
        obj = spec
        if not (hasattr(obj, "__dlpack__") or _has_buffer(obj)):
            raise TypeError("message: expecting buffer or list/tuple")
    memory: Any = mpi.buffer.frombuffer(obj, not writable)
    if writable and memory.readonly:
        raise BufferError("dlpack: buffer is not writable")
    raw = np.frombuffer(memory, np.uint8)
    if datatype is not None:
        code, size = datatype.typestr, mpi.element_size(datatype)
    else:
        code, size = element_type(obj.dtype if hasattr(obj, "dtype") else np.dtype(memoryview(obj).format))
    if counts is not None and ranks is None:
        count, start = index(counts), index(displs or 0) * size
        if count < 0:
            raise ValueError(f"message: negative count {count}")
        raw, counts, displs = raw[start : start + count * size], None, None
    elif counts is not None:
        counts = [index(count) for count in counts]
    return Buffer(raw[: raw.size // size * size], code, size, counts, displs)


def _is_counts(pair: tuple, ranks: int | None) -> bool:
    """Whether a pair is the counts of two ranks, and not a count (or counts) with a displacement (or displs)."""
    return ranks == 2 and np.ndim(pair[0]) == 0


def _has_buffer(obj: Any) -> bool:
    if isinstance(obj, str):
        return False
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True
