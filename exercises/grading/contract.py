"""What holds in every exercise, whether its own checks speak of it or not, unless the exercise says otherwise.

Arguments are as they were after the call, and a result is no memory of an argument. (An object of a grader's own may
note what was done with it.) These checks come after the exercise's own, which have more to say.
"""

from __future__ import annotations

from typing import Any

from numpy import array_equal, ndarray

from .exercise import Answer, Case, Check, Finding
from .plain import Other, decode, encode

CHANGED = (
    "The caller still needs it as it was: work on a copy. (Slices of an array are views; .sort(), .pop(), .append() "
    "and .reverse() change the list itself.)"
)
SHARED = (
    "Who writes into the result later changes the argument, too. Return memory of its own (.copy()), also where there "
    "is nothing to do."
)


def kept(case: Case, answer: Answer) -> Finding | None:
    """Arguments that are plain data are the same after the call."""
    for rank, (before, after) in enumerate(zip(case.arguments, answer.arguments)):
        for number, (was, now) in enumerate(zip(before, after), 1):
            if not _same(decode(encode(was)), now):
                on = f" on rank {rank}" * (case.ranks > 1)
                return Finding(f"argument {number}{on} was changed.", CHANGED)
    return None


def own_memory(case: Case, answer: Answer) -> Finding | None:
    """No result is (part of) the memory of an argument."""
    rank = next((rank for rank, aliased in enumerate(answer.aliased) if aliased), None)
    return None if rank is None else Finding(f"what rank {rank} returned is a view of an argument.", SHARED)


CONTRACT: tuple[Check, ...] = (kept, own_memory)


def _same(one: Any, other: Any) -> bool:
    """Whether plain data is the same; NaN equals NaN."""
    if isinstance(one, ndarray) and isinstance(other, ndarray):
        return one.dtype == other.dtype and array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(map(_same, one.values(), other.values()))
    return type(one).__name__ == type(other).__name__ and (isinstance(one, Other) or repr(one) == repr(other))
