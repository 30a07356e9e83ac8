"""Reduction operations, carried out in place on NumPy arrays and torch tensors alike."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import mpi

# MPI's operation -> the function of that name in numpy and in torch, its MPI name, the kinds of elements it takes
# (NumPy's letters: b bool, i and u integers, f floats, c complex), as MPI 4.1, section 6.9.2 has it.
OPERATIONS = {
    mpi.SUM.handle: ("add", "SUM", "iufc"),
    mpi.PROD.handle: ("multiply", "PROD", "iufc"),
    mpi.MAX.handle: ("maximum", "MAX", "iuf"),
    mpi.MIN.handle: ("minimum", "MIN", "iuf"),
    mpi.LAND.handle: ("logical_and", "LAND", "biu"),
    mpi.LOR.handle: ("logical_or", "LOR", "biu"),
    mpi.BAND.handle: ("bitwise_and", "BAND", "iu"),
    mpi.BOR.handle: ("bitwise_or", "BOR", "iu"),
    mpi.LXOR.handle: ("logical_xor", "LXOR", "biu"),
    mpi.BXOR.handle: ("bitwise_xor", "BXOR", "iu"),
}
ANY = "any"  # the kinds of elements that an operation of the program's own takes


def combiner(op, like) -> Callable:
    """The function (into, other, other_first) that does into = into op other (or other op into) elementwise.

    op: one of OPERATIONS, or your own function of two arrays that returns a third of the same shape and type. It must
    be associative and should be commutative: a schedule decides in which order it combines, and only what does not
    depend on that order is the same for all schedules. like: an array or tensor of the kind to be combined.
    The elements are combined in their own type: bfloat16 sums are rounded to bfloat16 after every addition.
    Raises NotImplementedError for an MPI operation that is not in OPERATIONS, TypeError for what is no operation, or
    (when called) returns something else than such an array.
    """
    if getattr(op, "function", None) is not None:
        return _made(op)
    if callable(op) and not isinstance(op, mpi.MPI.Op):  # mpi4py's can be called, too

        def own(into, other, other_first=False):
            into[...] = _checked(op(other, into) if other_first else op(into, other), into, op)

        return own
    function = getattr(np if isinstance(like, np.ndarray) else sys.modules["torch"], _entry(op)[0])

    def predefined(into, other, other_first=False):
        first, second = (other, into) if other_first else (into, other)
        if len(into) == 1:  # in place NumPy takes one element for a reduction, in the other order: NaNs would differ
            into[...] = function(first, second)
        else:
            function(first, second, out=into)

    return predefined


def _made(op: Any) -> Callable:
    """The combiner of mpi.Op.Create(function): it is given two buffers and the datatype, and writes into the second."""

    def combine(into, other, other_first=False):
        low, high = np.asarray(into), np.array(other)
        if other_first:
            low, high = high, low
        kind = mpi.datatype(low.dtype.char)
        op.function(*(mpi.buffer.frombuffer(array.view(np.uint8)) for array in (low, high)), kind)
        if not other_first:
            low[...] = high

    return combine


def _checked(result, into, op: Callable):
    """What your own operation returned, if it can stand in the place of its operands."""
    found = getattr(result, "shape", None), getattr(result, "dtype", type(result))
    if found != (into.shape, into.dtype):
        name = getattr(op, "__name__", repr(op))
        raise TypeError(
            f"{name} was given two arrays of shape {tuple(into.shape)} and type {into.dtype} and must return one of "
            f"the same, not shape {found[0] and tuple(found[0])} and type {found[1]}"
        )
    return result


def is_predefined(op) -> bool:
    """Whether it is one of MPI's own, and no function of the program's."""
    return isinstance(op, mpi.MPI.Op) and not _own_name(op)


def name(op) -> str:
    """MPI's name of a predefined operation: "SUM"; of one of the program's own, its function's."""
    return _own_name(op) or _entry(op)[1]


def kinds(op) -> str:
    """The kinds of elements (NumPy's letters) that MPI lets this operation combine."""
    return ANY if _own_name(op) else _entry(op)[2]


def _own_name(op) -> str:
    """What an operation that a program has made is called; empty for any other."""
    function = getattr(op, "function", None)
    return "" if function is None else f"Op.Create({getattr(function, '__name__', type(function).__name__)})"


def _entry(op) -> tuple[str, str, str]:
    if not isinstance(op, mpi.MPI.Op):
        raise TypeError(f"an MPI operation is wanted, such as mpi.SUM, not {op!r}")
    try:
        return OPERATIONS[op.handle]
    except KeyError:
        known = ", ".join(entry[1] for entry in OPERATIONS.values())
        raise NotImplementedError(f"this operation is not offered; there are {known}") from None
