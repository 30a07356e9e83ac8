"""mpi4py, imported without starting MPI: the virtual cluster needs its names, and not a running MPI."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import mpi4py

if "mpi4py.MPI" not in sys.modules:
    mpi4py.rc.initialize = False
from mpi4py import MPI


class NotOffered(NotImplementedError, AttributeError):
    """What mpi4py has and this course's subset has not (reference.mpi.API); also what hasattr() wants to hear."""


class Shield:
    """A call of mpi4py's that ends the process while MPI is not running: then it raises NotOffered."""

    def __init__(self, name: str, inner: Any):
        self.name, self.inner = name, inner

    def __get__(self, instance: Any, owner: type) -> Any:
        if MPI.Is_initialized() and self.name not in NEVER:
            return self.inner.__get__(instance, owner)
        if instance is not None and not callable(self.inner):
            self.refuse()
        return self.refuse

    def refuse(self, *_: Any, **__: Any) -> None:
        """Raise."""
        when = "" if self.name in NEVER else " while MPI is not running"
        raise NotOffered(f"{self.name} is not one of the calls that are offered{when}")


def shielded(kind: type) -> type:
    """The class, with a shield before each public name that it has of mpi4py and has not made its own."""
    for name in dir(kind):
        if not name.startswith("_") and name not in HARMLESS and not any(name in vars(k) for k in kind.__mro__[:-2]):
            inner = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
            setattr(kind, name, Shield(name, inner))
    return kind


NEVER = "Create_f90_integer Create_f90_real Create_f90_complex Match_size Get_value_index".split()  # unknown elements
HARMLESS = "handle fromhandle typestr typechar tocode toint fromint py2f f2py free".split()


def abandon(comm: MPI.Comm) -> None:
    """Turn this object into COMM_NULL, and leave its communicator to MPI, which will not use its number again."""
    ctypes.memmove(MPI._addressof(comm), MPI._addressof(MPI.COMM_NULL), MPI._sizeof(MPI.Comm))
