"""Verified means verified: the one comparison behind every "verified" and "equal" of commands, tests and graders.

A comparison can pass without comparing. `max()` of Python drops NaN, `all()` of nothing is true, broadcasting makes a
vector equal to a number, and a float32 may stand where a float64 was promised. Here each of these is a difference:

    compare([0.5, nan], [0.5, 0.25])     not verified: element 1 of 2 is nan
    compare([], [])                      not verified: there is nothing to compare

What is expected must be finite, too: two NaN in the same place verify nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

SMALLEST = 5e-324  # the smallest float64: the error of what differs, however little
BLOCK = 2**16  # elements that are looked at together, so that large arrays are not copied as a whole


class Comparison(NamedTuple):
    """What a comparison found: true if nothing differs.

    `error` is the largest |got - expected| / max(|expected|, floor), infinite if it cannot be computed. `why` says what
    differs, with the numbers, and is empty if nothing does.
    """

    error: float
    why: str = ""

    def __bool__(self) -> bool:
        return not self.why


class Elements(NamedTuple):
    """The elements of a value as an array, the name of their type, and why they cannot be compared, or nothing."""

    array: np.ndarray
    type: str
    refused: str = ""


def compare(got: Any, expected: Any, within: float = 0.0, floor: float = 0.0) -> Comparison:
    """Compare two numbers, arrays, dense tensors, or lists and tuples of these, element by element.

    within: the largest relative error that counts as equal; 0.0 means equal, exactly.
    floor: magnitudes below it count as this large, so that values near 0 do not need digits that they cannot have.

    The two must have the same shape and type of element, at least one element, and no element that is NaN or infinite.
    Python's numbers have the types int64, float64, complex128 and bool, and an int may be as large as it likes. 0.0 and
    -0.0 are equal. Numbers of one type in a list are an array; any other list is compared item by item.
    Raises ValueError for a negative or non-finite `within` or `floor`.
    """
    if not (0 <= within < math.inf and 0 <= floor < math.inf):
        raise ValueError(f"within and floor are finite and at least 0, got {within} and {floor}")
    if _has_items(got) or _has_items(expected):
        return _item_by_item(got, expected, within, floor)
    return _element_by_element(_elements(got), _elements(expected), within, floor)


# Lists ----------------------------------------------------------------------------------------------------------------


def _has_items(value: Any) -> bool:
    """Whether this is a list or tuple that is not simply an array of numbers: of arrays, of lists, or of a mixture."""
    if not isinstance(value, list | tuple) or not value:
        return False
    types: set[Any] = set(map(type, value))
    return not all(issubclass(one, int | float | complex | np.number | np.bool) for one in types) or (
        len({np.dtype(one) if issubclass(one, np.generic) else np.asarray(one(0)).dtype for one in types}) > 1
    )


def _item_by_item(got: Any, expected: Any, within: float, floor: float) -> Comparison:
    """The items of an array are its rows."""
    if _length(got) is None or _length(got) != _length(expected):
        return Comparison(math.inf, f"{_size(got)} where {_size(expected)} was expected")
    worst = Comparison(0.0)
    for number, (ours, theirs) in enumerate(zip(got, expected)):
        found = compare(ours, theirs, within, floor)
        if (not found, found.error) > (not worst, worst.error):
            worst = found._replace(why=found.why and f"item {number}: {found.why}")
    return worst


def _length(value: Any) -> int | None:
    if isinstance(value, list | tuple):
        return len(value)
    return value.shape[0] if getattr(value, "shape", ()) else None


def _size(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    return f"shape {tuple(value.shape)}" if getattr(value, "shape", ()) else f"one {type(value).__name__}"


# Arrays ---------------------------------------------------------------------------------------------------------------


def _element_by_element(ours: Elements, theirs: Elements, within: float, floor: float) -> Comparison:
    if why := _incomparable(ours, theirs):
        return Comparison(math.inf, why)
    x, y = ours.array, theirs.array
    if "O" in (x.dtype.kind, y.dtype.kind):
        x, y = x.astype(object), y.astype(object)
    error, worst = _largest(x, y, floor)
    if error <= within:
        return Comparison(error)
    off = f"off by {error:.1e}, {within:.1e} is allowed" if within else "they must be equal"
    return Comparison(error, f"{_place(x, worst)} is {_text(x, worst)} where {_text(y, worst)} was expected: {off}")


def _largest(x: np.ndarray, y: np.ndarray, floor: float) -> tuple[float, int]:
    """The largest error, and at which element."""
    error, worst = 0.0, 0
    for place, a, b in _blocks(x, y):
        if not (same := a == b).all():
            errors = np.where(same, 0.0, _relative(a, b, floor))
            at = int(np.argmax(errors))
            if errors[at] > error:
                error, worst = float(errors[at]), place + at
    return error, worst


def _text(array: np.ndarray, number: int) -> str:
    value = array.flat[number]
    large = isinstance(value, int) and abs(value) >= 10**40
    return f"an int of {value.bit_length():,} bits" if large else str(value)


def _elements(value: Any) -> Elements:
    """The elements of a number, a list of numbers of one type, an array, or a tensor."""
    if hasattr(value, "detach"):
        return _of_tensor(value)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return Elements(np.zeros(0), "masked", f"masked elements: {np.ma.count_masked(value):,}")
    if _are_ints(value):
        return _of_ints(value)
    array = np.asarray(value)
    if array.dtype.kind == "O" and array.size and all(type(one) is int for one in array.flat):
        return Elements(array, "int64")
    return Elements(array, str(array.dtype), "" if array.dtype.kind in "biufc" else _no_numbers(value, array))


def _of_tensor(tensor: Any) -> Elements:
    """NumPy lacks some of torch's types, such as bfloat16: float32 has all their values."""
    name = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.detach().cpu().resolve_conj().resolve_neg()
    if plain.is_floating_point() and name not in ("float16", "float32", "float64"):
        plain = plain.float()
    return Elements(plain.numpy(), name)


def _are_ints(value: Any) -> bool:
    return type(value) is int or (isinstance(value, list | tuple) and {int} == set(map(type, value)))


def _of_ints(value: int | list[int] | tuple[int, ...]) -> Elements:
    """Python's ints as int64 if all fit, and else as they are: NumPy would make float64 of [-1, 2**63]."""
    try:
        return Elements(np.asarray(value, np.int64), "int64")
    except OverflowError:
        return Elements(np.asarray(value, object), "int64")


def _no_numbers(value: Any, array: np.ndarray) -> str:
    if hasattr(value, "dtype") or array.ndim:
        return f"elements of type {array.dtype} are not numbers"
    return f"{type(value).__name__} is not a type of number"


def _incomparable(ours: Elements, theirs: Elements) -> str:
    """Why there is no error to compute, or nothing."""
    for elements, whose in ((theirs, "expected: "), (ours, "")):
        if elements.refused:
            return whose + elements.refused
    if ours.array.shape != theirs.array.shape:
        return f"{_shape(ours.array)} where {_shape(theirs.array)} was expected"
    if ours.type != theirs.type:
        return f"elements of type {ours.type} where {theirs.type} was expected"
    if not ours.array.size:
        return "there is nothing to compare"
    return _not_finite(theirs.array, "the expected ") or _not_finite(ours.array, "")


def _shape(array: np.ndarray) -> str:
    return f"shape {array.shape}" if array.ndim else "a single number"


def _place(array: np.ndarray, number: int) -> str:
    return f"element {number:,} of {array.size:,}" if array.ndim else "value"


def _not_finite(array: np.ndarray, whose: str) -> str:
    """Which is the first element that is NaN or infinite, or nothing."""
    if array.dtype.kind not in "fc":
        return ""
    for place, block in _blocks(array):
        if not (finite := np.isfinite(block)).all():
            bad = place + int(np.argmin(finite))
            return f"{whose}{_place(array, bad)} is {array.flat[bad]}"
    return ""


def _blocks(*arrays: np.ndarray) -> Iterator[tuple]:
    """(place of the first element, that block of each array), one block after the other."""
    flat = [array.reshape(-1) for array in arrays]  # a view, except where memory is not in order
    for place in range(0, flat[0].size, BLOCK):
        yield place, *(one[place : place + BLOCK] for one in flat)


def _relative(a: np.ndarray, b: np.ndarray, floor: float) -> np.ndarray:
    """The relative error of each pair, at least TINY; infinite next to an expected 0 without a floor."""
    with np.errstate(all="ignore"):
        if a.dtype.kind == "O":
            return np.array([_of_large(one - other, other, floor) for one, other in zip(a, b)])
        wide = np.result_type(a.dtype, np.float64)
        off = np.abs(a.astype(wide) - b.astype(wide)) if a.dtype.kind in "fcb" else _distance(a, b).astype(float)
        errors = off / np.maximum(np.abs(b.astype(wide)), floor)
    return np.where(np.isnan(errors), math.inf, np.maximum(errors, SMALLEST)).astype(float)


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a - b| of integers, exactly: float64 would say that 2**53 and 2**53 + 1 are the same."""
    a64, b64 = (one.astype(np.int64 if one.dtype.kind == "i" else np.uint64).view(np.uint64) for one in (a, b))
    return np.where(a > b, a64 - b64, b64 - a64)


def _of_large(off: int, expected: int, floor: float) -> float:
    """The relative error of one pair of ints that may exceed every float."""
    try:
        return max(abs(off) / max(abs(expected), floor), SMALLEST) if off else 0.0
    except (ZeroDivisionError, OverflowError):
        return math.inf
