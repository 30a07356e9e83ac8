"""What several exercises of chapter 6 ask of an answer: results by name, one or two all-reduces, and no more bytes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from exercises.grading import Answer, Case, Finding, checks
from exercises.grading.exercise import Check
from exercises.grading.numbers import short

from ..ch02_data_parallel.common import called, no_more_than

CLOSE = 1e-11  # relative: float64 adds thousands of products with less, in any order
NOT_FINITE = (
    "The inputs are finite, and so is what belongs there. Does an exp overflow, is something divided by 0, or was "
    "an array of np.empty never written?"
)


class Part(NamedTuple):
    """One of the results that every rank returns: its name, what is right, slips (what somebody has, the hint)."""

    name: str
    want: Callable[[Case, int], Any]
    slips: Sequence[tuple[Callable[[Case, int], Any], str]]
    otherwise: str


def returns(*parts: Part) -> Check:
    """Every rank returns these, in this order; numbers, or arrays of float64. One part alone is no tuple."""

    def check(case: Case, answer: Answer) -> Finding | None:
        names = ", ".join(part.name for part in parts)
        for rank, got in enumerate(answer.results):
            if got is None:
                return Finding(f"rank {rank} returned None.", f"Return the results: `return {names}`.")
            if len(parts) > 1 and (not isinstance(got, tuple | list) or len(got) != len(parts)):
                return Finding(f"rank {rank} returned {short(got)}.", f"Return {len(parts)} results, {names}.")
        for place, part in enumerate(parts):
            for rank, result in enumerate(answer.results):
                got = result[place] if len(parts) > 1 else result
                if finding := _one(part, case, rank, got):
                    return finding
        return None

    return check


def _one(part: Part, case: Case, rank: int, got: Any) -> Finding | None:
    """What is wrong with one result of one rank, if anything is."""
    want = part.want(case, rank)
    if finding := _other_kind(part, rank, got, want):
        return finding
    if alike(got, want):
        return None
    hints = [hint for slip, hint in part.slips if _slipped(slip, case, rank, got)]
    if np.shape(got) != np.shape(want):
        seen = f"rank {rank}: {part.name} has shape {np.shape(got)}; it should have {np.shape(want)}."
        return Finding(seen, hints[0] if hints else checks.SHAPE)
    if not np.isfinite(got).all():
        seen = f"rank {rank}: there is {np.asarray(got)[~np.isfinite(got)][0]} in {part.name}."
        return Finding(seen, hints[0] if hints else NOT_FINITE)
    close = alike(got, want, checks.FEW_DIGITS)
    return Finding(_seen(part.name, rank, got, want), next(iter(hints), checks.DIGITS if close else part.otherwise))


def _other_kind(part: Part, rank: int, got: Any, want: Any) -> Finding | None:
    """The finding for what is no number, or no array of float64."""
    if not np.ndim(want):
        fine = isinstance(got, int | float) and not isinstance(got, bool)
        return None if fine else Finding(f"rank {rank}: {part.name} is {short(got)}.", "It should be one number.")
    if not isinstance(got, np.ndarray):
        return Finding(f"rank {rank}: {part.name} is {short(got)}.", "It should be a NumPy array.")
    if got.dtype != np.float64:
        seen = f"rank {rank}: {part.name} is an array of {got.dtype}, not of float64."
        return Finding(seen, "Is an array made with another element type than the inputs have? Look at astype, empty.")
    return None


def _slipped(slip: Callable[[Case, int], Any], case: Case, rank: int, got: Any) -> bool:
    """Whether a known mistake gives `got`. Where the ranks' shapes do not let it, it gives nothing."""
    try:
        with np.errstate(all="ignore"):
            return alike(got, slip(case, rank))
    except (ValueError, IndexError):
        return False


def alike(got: Any, want: Any, close: float = CLOSE) -> bool:
    """Whether two results have the same shape and are equal up to rounding."""
    if np.shape(got) != np.shape(want) or not np.isfinite(got).all():
        return False
    return bool((np.abs(np.subtract(got, want)) <= close * (np.abs(want).max(initial=0) + 1e-300)).all())


def _seen(name: str, rank: int, got: Any, want: Any) -> str:
    """The facts about a wrong number or array."""
    if not np.ndim(want):
        return f"rank {rank}: {name} is {got:.8g}; right is {want:.8g}."
    wrong = np.flatnonzero(np.abs(got - want) > CLOSE * np.abs(want).max(initial=0))
    first = f"the first is {got.flat[wrong[0]]:.6g} in place of {want.flat[wrong[0]]:.6g}"
    return f"rank {rank}: {wrong.size} of the {want.size} numbers of {name} are wrong, {first}."


def all_reduces(times: int, elements: Callable[[Case], int], why: str) -> list[Check]:
    """Every rank calls Allreduce so often, and no other collective, on so many numbers together; why: the hint."""

    def hint(case: Case, made: list[str]) -> str:
        if not made:
            return f"Nothing was sent. {why}"
        if set(made) != {"Allreduce"}:
            return f"Allreduce alone does it: it gives the sum to every rank. {why}"
        return f"{why} Asked for {'is one call' if times == 1 else f'are {times} calls'}."

    most = no_more_than(elements, f"{checks.count(times, 'all-reduce')} of what is asked for", TOO_MUCH)
    return [called(lambda case: ["Allreduce"] * times, hint), most]


TOO_MUCH = "More numbers travel than are needed. Which of them does another rank not have already, and need?"
