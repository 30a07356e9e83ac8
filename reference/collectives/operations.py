"""Reduction operations, carried out in place on NumPy arrays and torch tensors alike."""

from __future__ import annotations

import sys

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
}


def combine(op, into, other) -> None:
    """into = into op other, elementwise and in place; both arrays of one shape, type and library.

    Raises NotImplementedError for an operation that is not in OPERATIONS.
    """
    library = np if isinstance(into, np.ndarray) else sys.modules["torch"]
    getattr(library, _entry(op)[0])(into, other, out=into)


def name(op) -> str:
    """MPI's name of a predefined operation: "SUM"."""
    return _entry(op)[1]


def kinds(op) -> str:
    """The kinds of elements (NumPy's letters) that MPI lets this operation combine."""
    return _entry(op)[2]


def _entry(op) -> tuple[str, str, str]:
    if not isinstance(op, mpi.Op):
        raise TypeError(f"an MPI operation is wanted, such as mpi.SUM, not {op!r}")
    try:
        return OPERATIONS[op.handle]
    except KeyError:
        known = ", ".join(entry[1] for entry in OPERATIONS.values())
        raise NotImplementedError(f"this operation is not offered; there are {known}") from None
