"""Plain data: what a child may send to the grader, and nothing else.

The grader never unpickles what a student's code has made, because unpickling runs code; and it does not use marshal,
which may crash or ask for gigabytes when it reads what nobody has written. Values travel as JSON: numbers, text and
containers, each container with its name; arrays as their bytes. `decode` refuses whatever `encode` does not write, so
that a check sees ordinary values only.
"""

from __future__ import annotations

import base64
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from numbers import Rational, Real
from typing import Any

from numpy import asarray, dtype, frombuffer, generic, may_share_memory, ndarray

WHOLE_BITS = 1023  # a whole number of more bits is larger than any float
_ELEMENT = re.compile(r"[<>|][biufcSUVmM]\d{1,4}(\[\w{1,8}\])?")  # what numpy calls types of elements: "<f8", "|b1"


@dataclass(frozen=True)
class Other:
    """A value that is not plain data: all that is kept of it is what it was. decode() names its class after `type`."""

    type: str
    text: str

    def __repr__(self) -> str:
        return self.text


def encode(value: Any) -> Any:
    """Make `value` out of what JSON can write. Numbers of other types become int, if they are whole, or float."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, generic) or (isinstance(value, ndarray) and not asarray(value).ndim):
        value = ndarray.item(asarray(value))  # an array of shape () is a number, too
    if value is None or type(value) in (bool, float, str):
        return value
    if isinstance(value, tuple | list):
        return ["list" if isinstance(value, list) else "tuple", [encode(item) for item in value]]
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, ndarray) and not value.dtype.hasobject:
        array = asarray(value)
        return ["array", array.dtype.str, list(array.shape), _text_of(ndarray.tobytes(array))]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """The rest: numbers and text of every type, and what is not plain at all."""
    if isinstance(value, Real | Decimal):
        number = _number(value)
        return _other(value) if number is None else number
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, str):
        return str.__str__(value)
    return ["bytes", _text_of(bytes(value))] if isinstance(value, bytes) else _other(value)


def _number(value: Any) -> int | float | None:
    """A number as int or float; None if it is too large for a float."""
    whole = isinstance(value, Rational) and value.denominator == 1
    whole = whole or (isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value())
    try:
        return int(value) if whole and math.isfinite(float(value)) else float(value)
    except OverflowError:
        return None


def _other(value: Any) -> list:
    return ["other", str(type(value).__name__), _shown(value)]


def _shown(value: Any) -> str:
    """Some of a value's repr, which may be a student's, and fail."""
    try:
        return str(repr(value))[:200]
    except ValueError:  # Python does not print whole numbers of more than 4,300 digits
        return "a whole number of thousands of digits"
    except Exception as error:
        return f"<its repr raised {type(error).__name__}>"


def overlap(one: Any, other: Any) -> bool:
    """Whether two values are arrays over the same memory, or lists and dictionaries in which such arrays are."""
    others = list(_arrays(other))
    return any(may_share_memory(ours, theirs) for ours in _arrays(one) for theirs in others)


def _arrays(value: Any) -> Iterator[ndarray]:
    """The array that a value is, or those in a list or a dictionary."""
    if isinstance(value, ndarray):
        yield value
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)


def decode(value: Any) -> Any:
    """Undo `encode`; what was no plain data comes back as an Other. Raises ValueError for what it never writes."""
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, int) and value.bit_length() > WHOLE_BITS:
        raise ValueError("a whole number that is too long")
    if not isinstance(value, list):
        return value
    match value:
        case ["list", [*items]]:
            return [decode(item) for item in items]
        case ["tuple", [*items]]:
            return tuple(decode(item) for item in items)
        case ["array", str(element), [*shape], str(text)]:
            return _array(element, shape, base64.b64decode(text, validate=True))
        case ["bytes", str(text)]:
            return base64.b64decode(text, validate=True)
        case ["complex", float(real), float(imag)]:
            return complex(real, imag)
        case ["other", str(name), str(text)]:
            return type(name[:80].replace("\0", ""), (Other,), {})(name, text)
    raise ValueError(f"not plain data: a list of {len(value)} things")


def _array(element: str, shape: list, data: bytes) -> ndarray:
    """An array from its type of element, shape and bytes. Raises ValueError if they do not fit."""
    if not _ELEMENT.fullmatch(element) or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("not an array")
    if len(shape) > 32 or math.prod(max(length, 1) for length in shape) > 1 << 24:  # empty ones can have absurd shapes
        raise ValueError("not an array that fits into a record")
    try:
        return frombuffer(data, dtype(element)).reshape(shape)
    except TypeError as error:
        raise ValueError(f"no type of element: {element}") from error


def _text_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
