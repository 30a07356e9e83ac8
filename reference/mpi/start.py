"""mpi4py, imported without starting MPI: the virtual cluster needs its names, and not a running MPI."""

from __future__ import annotations

import ctypes
import sys

import mpi4py

if "mpi4py.MPI" not in sys.modules:
    mpi4py.rc.initialize = False
from mpi4py import MPI


def abandon(comm: MPI.Comm) -> None:
    """Turn this object into COMM_NULL, and leave its communicator to MPI, which will not use its number again."""
    ctypes.memmove(MPI._addressof(comm), MPI._addressof(MPI.COMM_NULL), MPI._sizeof(MPI.Comm))
