"""Memory that a program hands to a call: its bytes, the type of its elements, and where in it they lie."""

from __future__ import annotations

from ctypes import PyDLL, c_char_p, c_void_p, py_object, string_at
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import mpi

DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_python = PyDLL(None)  # Python itself, with types of our own
_python.PyCapsule_GetName.restype, _python.PyCapsule_GetName.argtypes = c_char_p, [py_object]
_python.PyCapsule_GetPointer.restype, _python.PyCapsule_GetPointer.argtypes = c_void_p, [py_object, c_char_p]


class Scattered(NamedTuple):
    """Elements that do not lie one behind the other: those `places` of the memory, seen as `view`."""

    view: np.ndarray
    places: np.ndarray

    def gather(self) -> np.ndarray:
        """A copy of the elements, one behind the other, as bytes."""
        return self.view[self.places].view(np.uint8)

    def put(self, data: np.ndarray) -> None:
        """Put bytes where the first elements lie."""
        self.view[self.places[: data.size // self.view.itemsize]] = data.view(self.view.dtype)


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory of a call: its elements as bytes, one behind the other, their NumPy code and size, counts and displs.

    `raw` is a view of the program's memory, or a copy if the elements are `scattered` there. counts and displs, in
    elements, are those of each rank in a v-call.
    """

    raw: np.ndarray
    dtype: str
    itemsize: int
    counts: list[int] | None = None
    displs: list[int] | None = None
    scattered: Scattered | None = None
    derived: bool = False  # of a derived datatype: reductions take none

    @property
    def count(self) -> int:
        """Number of elements."""
        return self.raw.size // self.itemsize

    def typed(self) -> np.ndarray:
        """The same memory as an array of its element type (a view)."""
        return self.raw.view(self.dtype)

    def store(self, data: np.ndarray) -> None:
        """Put bytes at the beginning of the program's memory."""
        if self.scattered is None:
            self.raw[: data.size] = data
        else:
            self.scattered.put(data)

    def memory(self) -> np.ndarray:
        """The program's memory in which the elements lie, perhaps with others."""
        return self.raw if self.scattered is None else self.scattered.view

    def now(self) -> np.ndarray:
        """The elements as bytes, as they are in the program's memory at this moment."""
        return self.raw if self.scattered is None else self.scattered.gather()


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


class _Shown:
    """A tensor as NumPy reads memory of others. The array keeps this, and this the tensor."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Any):
        self.tensor = tensor
        self.__array_interface__ = {"data": (tensor.data_ptr(), False), "shape": (tensor.nbytes,), "typestr": "|u1"}


def lent(obj: Any) -> np.ndarray | None:
    """The bytes (a view) of one of torch's plain tensors; None for whatever has to be asked for its memory.

    To ask, by DLPack, takes ten times as long. `numpy()` is quick, too, but then the storage can no more be resized.
    Raises BufferError for a tensor whose storage has no memory any more.
    """
    kind = type(obj)
    if kind.__name__ != "Tensor" or kind.__module__ != "torch" or obj.requires_grad or not obj.is_cpu:
        return None
    if obj.is_conj() or obj.is_neg() or obj.is_nested or obj.is_quantized or str(obj.layout) != "torch.strided":
        return None
    if not obj.is_contiguous() or not obj.nbytes:
        return None
    if not obj.data_ptr():
        raise BufferError(f"this tensor of {obj.nbytes} bytes has no memory: its storage was resized to 0")
    return np.asarray(_Shown(obj))


def as_bytes(obj: Any, writable: bool) -> np.ndarray:
    """The bytes of an object (a view); mpi4py's exceptions for memory that it would not take."""
    if (known := lent(obj)) is not None:
        return known
    if isinstance(obj, np.ndarray) and obj.flags.f_contiguous:
        obj = obj.T  # mpi4py takes the memory as it lies
    memory: Any = mpi.buffer.frombuffer(obj, not writable)
    if writable and memory.readonly:
        raise BufferError("dlpack: buffer is not writable")
    return np.frombuffer(memory, np.uint8)


def overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays may share memory. That of two different arrays which own theirs is known at once."""
    mine, others = one.base, other.base
    if mine is not others and type(mine) is type(others) is np.ndarray and mine.base is others.base is None:
        return False
    return np.may_share_memory(one, other)


def layout_of(obj: Any) -> Any:
    """The layout of an object's elements, which it tells itself."""
    if hasattr(obj, "dtype"):
        code: str = element_type(obj.dtype)[0]
    elif has_buffer(obj):
        code = memoryview(obj).format.lstrip("@=<")
    elif hasattr(obj, "__dlpack__"):
        code = _code_of_tensor(obj)
    else:
        code = obj.__cuda_array_interface__["typestr"].lstrip("@=<|")
        if not code[:1].isalpha():
            raise BufferError(f"typestr {code!r} with non-native byte order")
    return _basic(code)


def _code_of_tensor(tensor: Any) -> str:
    """The type of a DLPack tensor: kind, bits and lanes, behind its address, device and number of dimensions."""
    try:
        capsule = tensor.__dlpack__()
        name = _python.PyCapsule_GetName(capsule)
        start = _python.PyCapsule_GetPointer(capsule, name) + (32 if name.endswith(b"_versioned") else 0)
        code, bits, lanes, _ = string_at(start + 20, 4)
        letter = "c" if (code, lanes) == (2, 2) else DLPACK_KINDS.get(code)  # a complex number is also two of a float
        return "bfloat16" if code == 4 else element_type(np.dtype(f"{letter}{bits * lanes // 8}"))[0]
    except Exception as error:
        kind = type(tensor).__name__
        raise mpi.NotOffered(f"the type of this {kind}'s elements is not known: say it, [x, mpi.DOUBLE]") from error


@cache
def _basic(code: str) -> Any:
    return mpi.BFLOAT16 if code == "bfloat16" else mpi.datatype(code).known()


def is_bottom(obj: Any) -> bool:
    """Whether this is BOTTOM, from which absolute addresses would count."""
    return isinstance(obj, type(mpi.BOTTOM)) and obj == mpi.BOTTOM


def has_buffer(obj: Any) -> bool:
    """Whether Python's buffer protocol gives its memory."""
    if isinstance(obj, str):
        return False
    try:
        memoryview(obj)
    except (TypeError, BufferError, ValueError):
        return False
    return True
