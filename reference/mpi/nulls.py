"""MPI's null handles, which raise what MPI raises for them, instead of ending the process, before MPI has started."""

from __future__ import annotations

from functools import cache
from typing import Any

from .start import MPI

REFUSED = {
    "Comm": MPI.ERR_COMM, "Intracomm": MPI.ERR_COMM, "Intercomm": MPI.ERR_COMM, "Group": MPI.ERR_GROUP,
    "Request": MPI.ERR_REQUEST, "Message": MPI.ERR_REQUEST, "Info": MPI.ERR_INFO, "Win": MPI.ERR_WIN,
    "Errhandler": MPI.ERR_ERRHANDLER, "File": MPI.ERR_FILE, "Session": MPI.ERR_SESSION,
}  # fmt: skip
_kinds: dict[str, type] = {}


@cache
def guarded(name: str) -> Any:
    """MPI's handle of that name; to use it is an mpi.Exception while MPI is not running. It can always be compared."""
    handle = getattr(MPI, name)
    kind = type(handle).__name__
    if kind not in _kinds:

        def __getattribute__(self: Any, attribute: str) -> Any:
            if attribute.startswith("_") or attribute == "handle" or MPI.Is_initialized():
                return object.__getattribute__(self, attribute)
            raise MPI.Exception(REFUSED[kind])

        def __reduce__(self: Any) -> Any:
            return guarded, (self._null,)

        members = {"__getattribute__": __getattribute__, "__reduce__": __reduce__}
        _kinds[kind] = type(kind, (type(handle),), members)
    null = _kinds[kind](handle)
    null._null = name
    return null
