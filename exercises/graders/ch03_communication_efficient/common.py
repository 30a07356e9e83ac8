"""What several exercises of chapter 3 ask of an answer."""

from collections.abc import Callable, Sequence

import numpy as np

from exercises.grading import Answer, Case, Finding, checks
from exercises.grading.exercise import Check

from ..ch02_data_parallel.common import no_more_than

CLOSE = 1e-9  # relative to the largest number: float64 in any order of adding
CLOSE32 = 1e-5  # the same for float32

HALF = 3e-3  # relative: what float16 has right
DIGITS32 = (
    "The first digits are right, and no others. Did numbers go through a type of fewer digits (float16), were they "
    "rounded, or was something small added to them?"
)
NUMBERED_AGAIN = (
    "The steps are numbered from 0 again in every period, so each rank sees the same samples again and again. gradient "
    "wants the number of the step in the whole run."
)


def alike(one: np.ndarray, other: np.ndarray, close: float = CLOSE) -> bool:
    """Whether two arrays are equal but for rounding."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    if one.shape != other.shape or not np.isfinite(one).all():
        return False
    size = max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0))
    return bool((np.abs(one - other) <= close * size).all())


def first_wrong(case: Case, got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> str:
    """Which element of the first array is wrong first."""
    where = np.flatnonzero(~(np.abs(got[0] - want[0]) <= CLOSE * np.abs(want[0]).max(initial=0.0)))[0]
    return f"element {where} is {got[0][where]:.6g}; right is {want[0][where]:.6g}."


def result(
    want: Callable[[Case, int], np.ndarray],
    slips: Sequence[tuple[Callable[[Case, int], np.ndarray], str]],
    otherwise: str | Callable[[Case, Answer, int], str],
    got: Callable[[Answer, int], np.ndarray] = lambda answer, rank: answer.results[rank],
    what: str = "",
    close: float = CLOSE,
) -> Check:
    """Rank r has want(case, r); slips are (what somebody has instead, the hint) of known mistakes.

    otherwise   the hint if no slip fits
    got         where a rank's result is; the returned array unless told
    what        what it is called, such as "the total on ", in front of "rank 1"
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank in range(case.ranks):
            is_there, right = got(answer, rank), want(case, rank)
            if not alike(is_there, right, close):
                seen = f"{what}rank {rank}: {first_wrong(case, [is_there], [right])}"
                if alike(is_there, right, CLOSE32):
                    return Finding(f"{seen} (Its first digits are right.)", checks.DIGITS)
                hints = (hint for slip, hint in slips if alike(is_there, slip(case, rank), close))
                last = otherwise(case, answer, rank) if callable(otherwise) else otherwise
                last = DIGITS32 if alike(is_there, right, HALF) else last
                return Finding(seen, next(hints, last))
        return None

    return check


def several_arrays(names: Sequence[str], dtype: type = np.float64) -> Check:
    """Every rank returns a tuple of arrays, each as long as its first argument."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, got in enumerate(answer.results):
            size = case.arguments[rank][0].size
            if not isinstance(got, tuple | list) or len(got) != len(names):
                what = "None" if got is None else f"a {type(got).__name__}"
                return Finding(f"rank {rank} returned {what}.", f"Return {len(names)} arrays: {', '.join(names)}.")
            for name, each in zip(names, got):
                if not isinstance(each, np.ndarray) or each.shape != (size,):
                    return Finding(f"{name} on rank {rank} is no array of {size} numbers.", checks.SHAPE)
                if each.dtype != dtype:
                    return Finding(
                        f"{name} on rank {rank} is an array of {each.dtype}, not of {np.dtype(dtype)}.",
                        "Somewhere an array is made with another element type than g has: look at np.zeros, np.empty, "
                        "astype. (And sums of float32 with float64 are float64.)",
                    )
        return None

    return check


def part(number: int) -> Callable[[Answer, int], np.ndarray]:
    """Where one of several returned arrays is."""
    return lambda answer, rank: answer.results[rank][number]


def same_on_all_ranks(got: Callable[[Answer, int], np.ndarray] = lambda answer, rank: answer.results[rank]) -> Check:
    """All ranks have the same bits."""

    def check(case: Case, answer: Answer) -> Finding | None:
        only = [got(answer, rank) for rank in range(case.ranks)]
        return checks.same_bits(case, Answer(only, answer.arguments, answer.aliased))

    return check


def bytes_of_wires(
    wire: Callable[[Case], int], slips: Sequence[tuple[Callable[[Case], int], str]], otherwise: str
) -> Check:
    """Every rank's wire goes to all the others; on real ranks what MPI's collectives send is not seen."""
    everywhere = lambda each: lambda case: case.ranks * (case.ranks - 1) * each(case)  # noqa: E731
    slips = [(everywhere(slip), hint) for slip, hint in slips]
    check = checks.bytes_together(everywhere(wire), "wires of that size need", slips, otherwise)
    return lambda case, answer: None if answer.seconds is None else check(case, answer)


def allreduces(calls: Callable[[Case], int]) -> Check:
    """So many Allreduces are of d float64 each, as long as w."""
    return no_more_than(
        lambda case: calls(case) * case.arguments[0][0].size,
        "that many Allreduces of d float64",
        "What is reduced is an array of d numbers, as long as w, and nothing else. How long is yours?",
    )


class Gradient:
    """gradient(w, step) of one rank: of a bowl with its own minimum, which wobbles from step to step."""

    def __init__(self, rng, d, steps):
        self.curvature = rng.uniform(0.5, 1.5, d)
        self.minimum, self.wobble = rng.standard_normal(d), 0.3 * rng.standard_normal((max(steps, 1), d))

    def __call__(self, w, step):
        return self.curvature * (w - self.minimum) + self.wobble[step % len(self.wobble)]

    def __repr__(self):
        return "gradient"
