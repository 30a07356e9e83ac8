"""mpi4py's Status, which the virtual cluster fills in without a running MPI."""

from __future__ import annotations

from typing import Any

from .datatypes import datatype
from .start import MPI


class Status(MPI.Status):
    """mpi4py's Status: `source`, `tag`, and how much came.

    MPI's own counters want a running MPI. So the virtual cluster fills in `nbytes` and `dropped` (whether the request
    was cancelled) itself, and so does the program that sets them where MPI does not run.
    """

    nbytes: int | None = None
    dropped: bool | None = None

    def __init__(self, status: MPI.Status | None = None):
        if isinstance(status, Status):
            self.nbytes, self.dropped = status.nbytes, status.dropped

    def Get_count(self, datatype_: MPI.Datatype | str = MPI.BYTE) -> int:
        """Number of items of a datatype received, UNDEFINED if it is not a whole number."""
        if self.nbytes is None:  # not from the virtual cluster
            return super().Get_count(datatype(datatype_)) if MPI.Is_initialized() else 0
        whole, rest = divmod(self.nbytes, datatype(datatype_).Get_size())
        return MPI.UNDEFINED if rest else whole

    def Get_elements(self, datatype_: MPI.Datatype) -> int:
        """Number of basic elements received: of a vector of three, three for each."""
        if self.nbytes is None:
            return super().Get_elements(datatype_) if MPI.Is_initialized() else 0
        whole, rest = divmod(self.nbytes, datatype(datatype_).known().itemsize)
        return MPI.UNDEFINED if rest else whole

    def Set_elements(self, datatype_: MPI.Datatype, count: int) -> None:
        """Say how many elements came."""
        if MPI.Is_initialized() and self.nbytes is None:
            super().Set_elements(datatype_, count)
        else:
            self.nbytes = count * datatype(datatype_).known().itemsize

    def Is_cancelled(self) -> bool:
        """Whether the request was cancelled."""
        if self.dropped is None and MPI.Is_initialized():
            return super().Is_cancelled()
        return bool(self.dropped)

    def Set_cancelled(self, flag: bool) -> None:
        """Say whether it was."""
        if self.dropped is None and MPI.Is_initialized():
            super().Set_cancelled(flag)
        else:
            self.dropped = bool(flag)

    count: Any = property(lambda self: self.Get_count(), lambda self, value: self.Set_elements(MPI.BYTE, value))
    cancelled: Any = property(lambda self: self.Is_cancelled(), lambda self, value: self.Set_cancelled(value))
