"""What a call raises when a rank that it needs has failed, or its communicator has been revoked: ULFM's error classes.

User-Level Failure Mitigation (ULFM) lets a program outlive its ranks: no call waits for a dead rank for ever, it raises
an exception of one of these classes, and the program repairs its communicator (Revoke, Shrink, Agree).

    ERR_PROC_FAILED           a rank that the call needs has failed
    ERR_PROC_FAILED_PENDING   a nonblocking receive from ANY_SOURCE may have lost its sender; it can still be completed
    ERR_REVOKED               somebody has revoked the communicator

An MPI without ULFM (MPICH gives these names the number of ERR_UNKNOWN) still has a virtual cluster that needs three
different numbers, so there they are numbers of our own, which no class of MPI 5.0 has.
"""

from __future__ import annotations

from .start import MPI

_GIVEN = MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED
ERR_PROC_FAILED, ERR_PROC_FAILED_PENDING, ERR_REVOKED = _GIVEN if len(set(_GIVEN)) == 3 else (101, 102, 103)
ERR_IN_STATUS = MPI.ERR_IN_STATUS
CLASSES = ERR_PROC_FAILED, ERR_PROC_FAILED_PENDING, ERR_REVOKED, ERR_IN_STATUS, MPI.ERR_PENDING
NAMES = {
    ERR_PROC_FAILED: "ERR_PROC_FAILED",
    ERR_PROC_FAILED_PENDING: "ERR_PROC_FAILED_PENDING",
    ERR_REVOKED: "ERR_REVOKED",
    ERR_IN_STATUS: "ERR_IN_STATUS",
}


class FailureError(MPI.Exception):
    """mpi4py's Exception of one of ULFM's classes, raised by the virtual cluster; its text says who failed, and when.

    MPI itself may not know the number, so it is not asked.
    """

    def __new__(cls, code: int, why: str = "") -> FailureError:
        """Make one: mpi4py keeps the number."""
        return super().__new__(cls, code)

    def __init__(self, code: int, why: str = ""):
        super().__init__(code)
        self.why = why

    def __reduce__(self) -> tuple:
        return FailureError, (int(self), self.why)

    def __str__(self) -> str:
        return self.Get_error_string()

    def Get_error_class(self) -> int:
        """The error class."""
        return int(self)

    def Get_error_code(self) -> int:
        """The same number."""
        return int(self)

    def Get_error_string(self) -> str:
        """Its name, and why."""
        return f"{NAMES[int(self)]}: {self.why}" if self.why else NAMES[int(self)]

    error_class, error_code = property(Get_error_class), property(Get_error_code)
    error_string = property(Get_error_string)
