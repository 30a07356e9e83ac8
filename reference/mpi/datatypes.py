"""mpi4py's datatypes, with what they are made of: so they can be asked, and derived from, before MPI has started.

MPI ends the process that asks a datatype for its size too early. The virtual cluster never starts MPI, and it needs to
know where in memory the elements of a type lie. So a datatype has a `layout` here, and answers from that. Where MPI
runs, it is mpi4py's datatype as well, and real calls take it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .start import MPI, NotOffered, shielded

MOST_ELEMENTS = 2**26  # of one item, whose places are all listed


class Layout:
    """Where the elements of one item of a datatype lie, in bytes from its beginning.

    `code` is NumPy's code of the elements ("f8"), `offsets` has one place for each, in the order in which they are
    sent; the item goes from `lower` on for `extent` bytes, and the next one begins there.
    """

    def __init__(self, code: str, offsets: np.ndarray, lower: int, extent: int):
        self.code, self.offsets, self.lower, self.extent = code, offsets, lower, extent
        self.itemsize = 2 if code == "bfloat16" else np.dtype(code).itemsize
        self.size = len(offsets) * self.itemsize
        dense = extent == self.size and np.array_equal(offsets, np.arange(len(offsets)) * self.itemsize)
        self.dense = bool(dense)  # items one behind the other are elements one behind the other

    def repeated(self, starts: Iterable[int], lengths: Iterable[int]) -> Layout:
        """Blocks of `lengths` items, each block at one of `starts` (bytes)."""
        starts, lengths = list(starts), list(lengths)
        if sum(lengths) * len(self.offsets) > MOST_ELEMENTS:
            raise NotOffered(f"an item of more than {MOST_ELEMENTS:,} elements: give a count of smaller ones")
        items = [start + self.extent * np.arange(length) for start, length in zip(starts, lengths, strict=True)]
        places = np.concatenate([np.empty(0, int), *items]).astype(int)
        offsets = (places[:, None] + self.offsets).ravel()
        if not len(places):
            return Layout(self.code, offsets, 0, 0)
        lower, upper = int(places.min()) + self.lower, int(places.max()) + self.lower + self.extent
        return Layout(self.code, offsets, lower, upper - lower)

    def places(self, count: int, first: int = 0) -> np.ndarray:
        """Where the elements of `count` items lie, from item `first` on."""
        return ((first + np.arange(count))[:, None] * self.extent + self.offsets).ravel()


BFLOAT16 = Layout("bfloat16", np.zeros(1, int), 0, 2)  # torch has it, NumPy and most MPIs have not


@shielded
class Datatype(MPI.Datatype):
    """mpi4py's Datatype. `layout` is None for a type that NumPy's elements cannot make up (pairs, structures)."""

    layout: Layout | None = None
    _name = _label = ""  # as it is known here, and as it has been named
    _derived = committed = False  # committed: it may be used in messages

    def __init__(self, datatype: MPI.Datatype | None = None):
        if isinstance(datatype, Datatype):
            self.__dict__.update(datatype.__dict__)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, MPI.Datatype):
            return NotImplemented
        if self._derived or getattr(other, "_derived", False):
            return self.layout is getattr(other, "layout", None)
        return super().__eq__(other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # as mpi4py's

    def __bool__(self) -> bool:
        return self._derived or super().__bool__()

    def __reduce__(self) -> Any:
        if not self._derived:
            named = datatype(self._name)
            return (datatype, (self._name,)) if self is named else (Datatype, (named,))
        layout = self.known()
        return _rebuilt, (layout.code, layout.offsets, layout.lower, layout.extent, self.committed)

    def known(self) -> Layout:
        """The layout; NotOffered if there is none."""
        if self.layout is None:
            raise NotOffered(f"{self._name or 'this datatype'} {NO_ELEMENTS}")
        return self.layout

    def _derive(self, layout: Layout, name: str, *args: Any) -> Datatype:
        """A type of that layout, which mpi4py's method `name` makes, too, where MPI runs."""
        made = getattr(MPI.Datatype, name)(self, *args) if MPI.Is_initialized() else Datatype()
        made.layout, made._derived, made._name = layout, True, f"{name}{args}"
        return made

    # What it is ------------------------------------------------------------------------------------------------

    def Get_size(self) -> int:
        """Bytes of the elements of one item."""
        return self.known().size

    def Get_extent(self) -> tuple[int, int]:
        """(lower bound, extent) of one item in bytes."""
        return self.known().lower, self.known().extent

    def Get_true_extent(self) -> tuple[int, int]:
        """(first byte, bytes from there to the last one) that an item's elements take."""
        offsets = self.known().offsets
        if not len(offsets):
            return 0, 0
        lower = int(offsets.min())
        return lower, int(offsets.max()) + self.known().itemsize - lower

    size = property(Get_size)
    extent = property(lambda self: self.Get_extent()[1])
    lb = property(lambda self: self.Get_extent()[0])
    ub = property(lambda self: sum(self.Get_extent()))
    true_extent = property(lambda self: self.Get_true_extent()[1])
    true_lb = property(lambda self: self.Get_true_extent()[0])
    true_ub = property(lambda self: sum(self.Get_true_extent()))
    is_predefined = property(lambda self: not self._derived)
    is_named = property(lambda self: not self._derived)

    name: Any = property(lambda self: self.Get_name(), lambda self, name: self.Set_name(name))

    def Set_name(self, name: str) -> None:
        """Name the datatype."""
        self._label = name

    def Get_name(self) -> str:
        """MPI's name of a predefined type ("MPI_DOUBLE"), or what Set_name gave it."""
        if self._derived or self._label or not self._name:
            return self._label
        return f"MPI_{self._name}"

    # New ones from it ------------------------------------------------------------------------------------------

    def Dup(self) -> Datatype:
        """The same again."""
        layout = self.known()
        made = self._derive(Layout(layout.code, layout.offsets, layout.lower, layout.extent), "Dup")
        made.committed = self.committed
        return made

    def Create_contiguous(self, count: int) -> Datatype:
        """`count` items, one behind the other."""
        return self._derive(self.known().repeated([0], [count]), "Create_contiguous", count)

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """`count` blocks of `blocklength` items; each block begins `stride` items after the one before."""
        starts = np.arange(count) * stride * self.known().extent
        layout = self.known().repeated(starts, [blocklength] * count)
        return self._derive(layout, "Create_vector", count, blocklength, stride)

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """Create_vector with the stride in bytes."""
        layout = self.known().repeated(np.arange(count) * stride, [blocklength] * count)
        return self._derive(layout, "Create_hvector", count, blocklength, stride)

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Blocks of those lengths at those displacements, all in items."""
        starts = [displacement * self.known().extent for displacement in displacements]
        return self._derive(self.known().repeated(starts, blocklengths), "Create_indexed", blocklengths, displacements)

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Create_indexed with displacements in bytes."""
        layout = self.known().repeated(displacements, blocklengths)
        return self._derive(layout, "Create_hindexed", blocklengths, displacements)

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Create_indexed with blocks of one length."""
        starts = [displacement * self.known().extent for displacement in displacements]
        layout = self.known().repeated(starts, [blocklength] * len(starts))
        return self._derive(layout, "Create_indexed_block", blocklength, displacements)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Create_indexed_block with displacements in bytes."""
        layout = self.known().repeated(displacements, [blocklength] * len(displacements))
        return self._derive(layout, "Create_hindexed_block", blocklength, displacements)

    def Create_subarray(
        self, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], order: int = MPI.ORDER_C
    ) -> Datatype:
        """A part of an array of `sizes` items: `subsizes` of them from `starts` on; the extent is the whole array's."""
        layout = self.known()
        if order == MPI.ORDER_FORTRAN:
            sizes, subsizes, starts = sizes[::-1], subsizes[::-1], starts[::-1]
        places = np.arange(prod(sizes)).reshape(sizes)
        part = places[tuple(slice(start, start + size) for start, size in zip(starts, subsizes, strict=True))].ravel()
        made = layout.repeated(part * layout.extent, [1] * len(part))
        made = Layout(made.code, made.offsets, 0, prod(sizes) * layout.extent)
        if order == MPI.ORDER_FORTRAN:
            sizes, subsizes, starts = sizes[::-1], subsizes[::-1], starts[::-1]
        return self._derive(made, "Create_subarray", sizes, subsizes, starts, order)

    def Create_resized(self, lb: int, extent: int) -> Datatype:
        """The same elements in an item from `lb` on for `extent` bytes."""
        layout = self.known()
        return self._derive(Layout(layout.code, layout.offsets, lb, extent), "Create_resized", lb, extent)

    @classmethod
    def Create_struct(cls, *args: Any) -> Any:
        """Not offered: elements of several types in one message."""
        raise NotOffered("Create_struct is not offered: send each type in a message of its own")

    def Create_darray(self, *args: Any) -> Any:
        """Not offered; Create_subarray says the same of one block."""
        raise NotOffered("Create_darray is not offered: Create_subarray describes one rank's block")

    def Commit(self) -> Datatype:
        """Allow the type in messages."""
        if MPI.Is_initialized():
            super().Commit()
        self.committed = True
        return self

    def Free(self) -> None:
        """Give the type up; a predefined one cannot be."""
        if not self._derived:
            raise MPI.Exception(MPI.ERR_TYPE)
        if MPI.Is_initialized() and MPI.Datatype.__bool__(self):
            super().Free()
        self.layout, self._derived, self._name = None, False, "DATATYPE_NULL"

    @classmethod
    def fromcode(cls, code: str) -> Datatype:
        """The predefined type of a character code or type string: "d", "f8"."""
        return datatype(MPI.Datatype.fromcode(code))


NO_ELEMENTS = "has no elements that NumPy knows, and cannot be sent: take DOUBLE, INT64_T, ... or types made of one"


@cache
def predefined() -> dict[int, Datatype]:
    """All named datatypes of MPI by their handle."""
    found: dict[int, Datatype] = {}
    for name, value in vars(MPI).items():
        if isinstance(value, MPI.Datatype) and value.handle not in found:
            own = found[value.handle] = Datatype(value)
            own._name, own.committed, own.layout = name, bool(value), _basic(value)
    return found


def _basic(value: MPI.Datatype) -> Layout | None:
    try:
        code = {"S1": "i1", "U1": "i4"}.get(value.typestr, value.typestr)
        return Layout(code, np.zeros(1, int), 0, np.dtype(code).itemsize) if np.dtype(code).itemsize else None
    except (TypeError, ValueError):
        return None


def datatype(spec: Any) -> Datatype:
    """The datatype for a name ("DOUBLE"), a typecode ("d", "f8") or mpi4py's own object.

    KeyError for a code that is none, NotOffered for a type that was derived behind the door's back.
    """
    if isinstance(spec, Datatype):
        return spec
    if isinstance(spec, str):
        if isinstance(named := getattr(MPI, spec, None), MPI.Datatype):
            spec = named
        elif spec in MPI._typedict:
            spec = MPI._typedict[spec]
    if not isinstance(spec, MPI.Datatype):
        raise KeyError(f"cannot map {spec!r} to MPI datatype")
    if spec.handle not in predefined():
        raise NotOffered("derive datatypes from those of reference.mpi: mpi.DOUBLE.Create_vector(...)")
    return predefined()[spec.handle]


def _rebuilt(code: str, offsets: np.ndarray, lower: int, extent: int, committed: bool) -> Datatype:
    """A derived type that came out of a pickle."""
    basic = datatype(code)
    made = basic.Create_hindexed_block(1, offsets.tolist()).Create_resized(lower, extent)
    return made.Commit() if committed else made
