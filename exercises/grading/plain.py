"""Plain data: what a child may send to the grader.

The grader never unpickles what a student's code has made, because unpickling runs code. Values are sent with marshal,
which knows numbers, text and containers only; arrays travel as their bytes. The functions used here were looked up
before the student's code was loaded, so a patched numpy changes nothing.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from numpy import asarray, dtype, frombuffer, generic, may_share_memory, ndarray

_ARRAY, _OTHER, _SEQUENCE = "array", "other", "sequence"


class Other(NamedTuple):
    """A value that is not plain data: all that is kept of it is what it was."""

    type: str
    text: str

    def __repr__(self) -> str:
        return self.text


def encode(value: Any) -> Any:
    """Make `value` out of things that marshal can write."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, generic):
        value = ndarray.item(asarray(value))
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return value
    if isinstance(value, ndarray) and not value.dtype.hasobject:
        array = asarray(value)
        return _ARRAY, array.dtype.str, array.shape, ndarray.tobytes(array)
    if isinstance(value, tuple | list):
        return _SEQUENCE, isinstance(value, list), [encode(item) for item in value]
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    return _OTHER, type(value).__name__, repr(value)[:200]


def overlap(one: Any, other: Any) -> bool:
    """Whether two values are arrays over the same memory, or lists in which such arrays are."""
    if isinstance(one, tuple | list):
        return any(overlap(item, other) for item in one)
    if isinstance(other, tuple | list):
        return any(overlap(one, item) for item in other)
    return isinstance(one, ndarray) and isinstance(other, ndarray) and bool(may_share_memory(one, other))


def decode(value: Any) -> Any:
    """Undo `encode`; what was no plain data comes back as an Other."""
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    if not isinstance(value, tuple):
        return value
    kind, *parts = value
    if kind == _ARRAY:
        code, shape, data = parts
        return frombuffer(data, dtype(code)).reshape(shape)
    if kind == _SEQUENCE:
        return (list if parts[0] else tuple)(map(decode, parts[1]))
    return Other(*parts)
