"""Right answers of other kinds: what a solution returns, in other containers and types of number.

A grader that refuses one of them asks for a kind of thing, and not for an answer. Each takes a function and returns
another, which returns the same in its kind, and prints MARK where there was something to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

MARK = "this answer was changed"


def changed(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield (which kind, text of a file) of a solution's file, for each kind."""
    for kind in KINDS:
        changer = f'__import__("{__name__}", fromlist=["*"]).of_kind("{kind}")'
        yield kind, f"{text}\n\n{name} = {changer}({name})\n"


def of_kind(kind: str) -> Callable[[Callable], Callable]:
    """What makes another function of one, whose results are of this kind."""
    return lambda function: lambda *arguments: _mapped(function(*arguments), *KINDS[kind])


def _mapped(value: Any, wanted: Callable[[Any], bool], change: Callable[[Any], Any]) -> Any:
    """The value with all that is wanted in it changed, from inside out."""
    if isinstance(value, list | tuple):
        value = type(value)(_mapped(item, wanted, change) for item in value)
    elif isinstance(value, dict):
        value = {key: _mapped(item, wanted, change) for key, item in value.items()}
    if not wanted(value):
        return value
    print(MARK)
    return change(value)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isfinite(value))


def _numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(_whole(item) or _finite(item) for item in value)


def _array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _tensor(array: np.ndarray) -> Any:
    import torch  # here: few answers are tensors

    return torch.from_numpy(np.ascontiguousarray(array))


KINDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any]]] = {
    "tuples": (lambda value: isinstance(value, list), tuple),
    "lists": (lambda value: isinstance(value, tuple), list),
    "arrays for lists of numbers": (_numbers, np.array),
    "fractions": (_finite, Fraction),
    "NumPy's numbers": (lambda value: _whole(value) or _finite(value), lambda value: np.array(value)[()]),
    "arrays of shape ()": (lambda value: _whole(value) or _finite(value), np.array),
    "arrays in another order": (_array, lambda array: array[..., ::-1].copy(order="F")[..., ::-1]),
    "tensors": (_array, _tensor),
}
