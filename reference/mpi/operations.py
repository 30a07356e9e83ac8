"""mpi4py's operations, which can be asked, and made from functions, before MPI has started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .start import MPI, NotOffered, shielded


@shielded
class Op(MPI.Op):
    """mpi4py's Op. One made by `Create` keeps its `function(inbuf, inoutbuf, datatype)`, and can be pickled.

    The function gets two buffers (as bytes: np.frombuffer gives them a type) and puts the result into the second:
    inbuf comes from the lower ranks. In lower-case calls it gets two objects, and None, and returns a third.
    """

    function: Callable | None = None
    commutes = True
    name = ""
    reduce_local: Callable | None = None  # set by reference.worlds: what combines where MPI does not run

    def __init__(self, op: MPI.Op | None = None):
        if isinstance(op, Op):
            self.__dict__.update(op.__dict__)

    @classmethod
    def Create(cls, function: Callable[[Any, Any, Any], Any], commute: bool = False) -> Op:
        """An operation that calls `function`. commute: whether the operands may change places."""
        if not callable(function):
            raise AttributeError(f"an operation is made from a function, not from {type(function).__name__}")
        made = super().Create(function, commute) if MPI.Is_initialized() else cls()
        made.function, made.commutes = function, bool(commute)
        if MPI.Op.__bool__(made):
            _alive.append(made)
        return made

    def Free(self) -> None:
        """Give the operation up; a predefined one cannot be."""
        if self.function is None:
            raise MPI.Exception(MPI.ERR_OP)
        if MPI.Op.__bool__(self):
            handle = self.handle
            super().Free()
            _alive[:] = [op for op in _alive if op is not self and op.handle != handle]  # it may have been copied
        self.function = None

    def __call__(self, x: Any, y: Any) -> Any:
        return super().__call__(x, y) if self.function is None else self.function(x, y, None)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, MPI.Op):
            return NotImplemented
        if self.function is not None or getattr(other, "function", None) is not None:
            return self.function is getattr(other, "function", None)
        return super().__eq__(other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # as mpi4py's

    def __bool__(self) -> bool:
        return self.function is not None or super().__bool__()

    def __reduce__(self) -> Any:
        if self.function is not None:
            return Op.Create, (self.function, self.commutes)
        return (operation, (self.name,)) if self is PREDEFINED[self.name] else (Op, (PREDEFINED[self.name],))

    def Is_commutative(self) -> bool:
        """Whether the operands may change places: so for every predefined operation but REPLACE and NO_OP."""
        return self.commutes

    is_commutative = property(Is_commutative)
    is_predefined = property(lambda self: self.function is None)

    def Reduce_local(self, inbuf: Any, inoutbuf: Any) -> None:
        """Combine two buffers of this rank: inoutbuf = inbuf op inoutbuf."""
        if MPI.Is_initialized():
            super().Reduce_local(inbuf, inoutbuf)
        elif Op.reduce_local is None:
            raise NotOffered("Reduce_local is for ranks: import reference.worlds, or start MPI: mpi.world()")
        else:
            Op.reduce_local(self, inbuf, inoutbuf)


_alive: list[Op] = []  # those that MPI knows and that have not been freed; mpi4py has room for 32


def free_operations() -> None:
    """Free all operations that a program has made and left."""
    for op in list(_alive):
        op.Free()


def operation(name: str) -> Op:
    """The predefined operation of that name: "SUM"."""
    return PREDEFINED[name]


def _predefined(name: str) -> Op:
    op = Op(getattr(MPI, name))
    op.name, op.commutes = name, name not in ("REPLACE", "NO_OP", "OP_NULL")
    return op


NAMES = "OP_NULL MAX MIN SUM PROD LAND BAND LOR BOR LXOR BXOR MAXLOC MINLOC REPLACE NO_OP"
PREDEFINED = {name: _predefined(name) for name in NAMES.split()}
