"""Ready-made checks of arrays that a function returns, whose memory they are, and whether arguments are kept.

None passes without having compared: NaN, infinity, another shape or type of element are findings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .exercise import Answer, Case, Check, Finding
from .numbers import short

SHAPE = "Compare with the docstring: which elements belong there, and how many are they?"
NOT_FINITE = (
    "The inputs are finite numbers, and so is what belongs there. Is something divided by 0 or subtracted from "
    "infinity? Or is it memory of np.empty that was never written?"
)


def arrays(
    shape: Callable[[Case, int], tuple[int, ...]],
    dtype: type = np.float64,
    hint: Callable[[Case, Answer, int], str] | None = None,
    finite: bool = True,
) -> Check:
    """Every rank returns an array of this shape and dtype, all of whose elements are finite.

    hint(case, answer, rank) is for a wrong shape; finite=False leaves NaN and infinity to a later check that says more.
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, got in enumerate(answer.results):
            want = shape(case, rank)
            if got is None:
                return Finding(
                    f"rank {rank} returned None.",
                    "A function that ends without `return` gives None: return the result.",
                )
            if not isinstance(got, np.ndarray):
                return Finding(
                    f"rank {rank} returned {short(got)}.", f"It should return one NumPy array of shape {want}."
                )
            if got.dtype != dtype:
                return Finding(
                    f"rank {rank} returned an array of {got.dtype}, not of {np.dtype(dtype)}.",
                    "Somewhere an array is made with another element type than x has: look at np.empty, np.zeros, "
                    "astype.",
                )
            if got.shape != want:
                return Finding(
                    f"rank {rank} returned an array of shape {got.shape}; it should have shape {want}.",
                    hint(case, answer, rank) if hint else SHAPE,
                )
            if finite and (finding := _not_finite(got, f"what rank {rank} returned")):
                return finding
        return None

    return check


def kept(name: str) -> Check:
    """The arguments are the same after the call.

    name    what the array, or the list of arrays, is called; where there are several arguments, a word for each
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, (before, after) in enumerate(zip(case.arguments, answer.arguments)):
            left = _arrays_in(name, after)
            for where, (place, was) in _arrays_in(name, before).items():
                changed = _changed(was, left.get(where, ("", None))[1])
                if changed:
                    on = f" on rank {rank}" * (case.ranks > 1)
                    its = place.split("[")[0]
                    return Finding(
                        f"{place}{on} was changed: {changed}.",
                        f"The caller still needs its {its}: work on a copy. (Slices of an array, so also what "
                        f"np.array_split returns, are views: who writes into one writes into {its}.)",
                    )
        return None

    return check


def _changed(was: np.ndarray, now: np.ndarray | None) -> str:
    """How an argument is another than before the call, or ""."""
    if now is None:
        return "it is no longer there"
    if (was.shape, was.dtype) != (now.shape, now.dtype):
        return f"it has shape {now.shape} and type {now.dtype} now"
    where = np.flatnonzero(np.ravel(was != now))
    return f"{where.size} of its {was.size} elements, the first at {where[0]}" if where.size else ""


def own_memory(name: str) -> Check:
    """The result is no view of an argument; `name` is what the argument is called."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, aliased in enumerate(answer.aliased):
            if aliased:
                return Finding(
                    f"what rank {rank} returned is a view of {name}.",
                    f"Who writes into the result later changes {name}, too. Return memory of its own (.copy()), also "
                    "for one rank.",
                )
        return None

    return check


unchanged, new_array = kept("x"), own_memory("x")


def same_bits(case: Case, answer: Answer) -> Finding | None:
    """All ranks return the same array, to the last bit."""
    first = answer.results[0]
    for rank, got in enumerate(answer.results):
        if not isinstance(got, np.ndarray):
            return Finding(f"rank {rank} returned {short(got)}.", "It should return one NumPy array.")
        if finding := _not_finite(got, f"what rank {rank} returned"):
            return finding
        if (got.shape, got.dtype) != (first.shape, first.dtype):
            theirs = [f"an array of {each.dtype} of shape {each.shape}" for each in (first, got)]
            return Finding(f"rank 0 returned {theirs[0]}, rank {rank} {theirs[1]}.", SHAPE)
        if got.tobytes() != first.tobytes():
            ours, theirs = (each.ravel().view(np.uint8).reshape(each.size, -1) for each in (got, first))
            where = np.flatnonzero((ours != theirs).any(axis=1))[0]
            both = f"{first.flat[where].item()!r} and {got.flat[where].item()!r}"
            return Finding(
                f"ranks 0 and {rank} differ in element {where}: {both}.",
                "Floating-point sums depend on the order of adding, and replicas that differ by a bit drift apart. Let "
                "every rank add the same pairs: a + b and b + a are equal, (a + b) + c and a + (b + c) are not.",
            )
    return None


def _not_finite(got: np.ndarray, what: str) -> Finding | None:
    """The finding for an array that holds NaN or infinity."""
    if got.dtype.kind not in "fc" or (fine := np.isfinite(got)).all():
        return None
    first = int(np.argmin(fine))
    return Finding(f"{what} has {got.flat[first]} in it, at {first} of {got.size} elements.", NOT_FINITE)


def _arrays_in(name: str, arguments: tuple) -> dict[tuple[int, ...], tuple[str, np.ndarray]]:
    """By place, the (name, array) of the arrays among a call's arguments and in lists there. name: as in `kept`."""
    names = name.split() if " " in name else [name] * len(arguments)
    found = {(i,): (its, value) for i, (its, value) in enumerate(zip(names, arguments))}
    for (i,), (its, value) in list(found.items()):
        if isinstance(value, list):
            found |= {(i, j): (f"{its}[{j}]", item) for j, item in enumerate(value)}
    return {place: named for place, named in found.items() if isinstance(named[1], np.ndarray) and named[1].ndim}


def unlike(rank: int, got: Any, shape: tuple[int, ...], dtype: np.dtype) -> Finding | None:
    """The finding for a rank's result that is no array of this shape and type, where `arrays` has not looked before."""
    if isinstance(got, np.ndarray) and (got.shape, got.dtype) == (shape, dtype):
        return None
    is_so = f"an array of {got.dtype} of shape {got.shape}" if isinstance(got, np.ndarray) else short(got)
    return Finding(f"rank {rank} has {is_so}, where an array of {dtype} of shape {shape} belongs.", SHAPE)
