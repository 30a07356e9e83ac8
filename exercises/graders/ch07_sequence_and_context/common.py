"""What several exercises of chapter 7 ask of an answer: attention as it should be, and as known mistakes make it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from exercises.grading import Answer, Case, Finding, checks
from exercises.grading.exercise import Check
from exercises.grading.numbers import short

ROUNDING = 1e-9  # relative to the largest number of a result: merging in another order costs far less
FEW_DIGITS = 1e-4  # relative: what has the first digits right, and others wrong


class Part(NamedTuple):
    """Attention over some keys: the output [s, d], and the log-sum-exp of each row [s]."""

    o: np.ndarray
    L: np.ndarray


def attention(q, k, v, visible, scale=None) -> Part:
    """softmax(q k^T scale) v where visible [s, t] is True; 0 and -inf in rows in which nothing is."""
    S = np.where(visible, q @ k.T * (q.shape[1] ** -0.5 if scale is None else scale), -np.inf)
    m = S.max(axis=1, initial=-np.inf)
    m = np.where(np.isneginf(m), 0.0, m)
    P = np.exp(S - m[:, None])
    total = P.sum(axis=1)
    with np.errstate(divide="ignore"):
        return Part(P @ v / np.where(total > 0, total, 1.0)[:, None], m + np.log(total))


def causal(queries, keys):
    """Which queries at these positions see which keys."""
    return np.asarray(queries)[:, None] >= np.asarray(keys)[None, :]


def near(got, want, within=ROUNDING) -> bool:
    """Whether two arrays are the same up to rounding; infinities where they belong."""
    finite = np.isfinite(want)
    if not (np.isfinite(got) == finite).all() or (got[~finite] != want[~finite]).any():
        return False
    size = max(1e-3, float(np.abs(want[finite]).max(initial=0.0)))
    return bool((np.abs(got[finite] - want[finite]) <= within * size).all())


def parts(case: Case, answer: Answer, d: int) -> Finding | None:
    """Every result is (o [s, d], L [s]), two float64 arrays."""
    for (q, *_), got in zip(case.arguments, answer.results):
        if not isinstance(got, tuple | list) or len(got) != 2:
            what = "None" if got is None else f"a {type(got).__name__}"
            return Finding(f"it returned {what}.", "Return two arrays: `return o, L`.")
        for name, array, shape in zip(("o", "L"), got, ((len(q), d), (len(q),))):
            if not isinstance(array, np.ndarray):
                return Finding(f"{name} is {short(array)}.", f"A NumPy array of shape {shape}.")
            if array.shape != shape:
                return Finding(
                    f"{name} has shape {array.shape}; it should have {shape}.",
                    "One row of o for each query, and one number of L. (np.sum and np.max take keepdims=True where a "
                    "column is to be divided by.)",
                )
            if array.dtype != np.float64:
                return Finding(
                    f"{name} is an array of {array.dtype}.", "All arguments are float64, and so are o and L."
                )
    return None


NAN = (
    "Infinity minus infinity is NaN, and so is 0 / 0. Which query sees no key, in a block or in all of them? What is "
    "its maximum then, what its sum, and by what is it divided?"
)
OWN_KEY = (
    "Infinity minus infinity is NaN, and so is 0 / 0. Every query sees its own key at least: does your mask leave it "
    "that one? And what becomes of a block of which a query sees nothing?"
)
OVERFLOW = (
    "exp(1000) is infinite in float64, and exp(-1000) is 0. A softmax does not change if the same number is subtracted "
    "from all scores of a row: which number makes every exp at most 1?"
)


def compared(
    got,
    want,
    slips: Sequence[tuple[Callable[[], object], str]],
    otherwise: str,
    large: bool,
    where: str = "",
    nan: str = NAN,
) -> Finding | None:
    """The finding for a tuple of arrays that is not the one wanted.

    slips: (what it may be instead, the hint); large: whether exp of a score may be infinite; nan: the hint if not.
    """
    if all(map(near, got, want)):
        return None
    names = ("o", "L")
    wrong = next(i for i, (one, other) in enumerate(zip(got, want)) if not near(one, other))
    one, other = got[wrong], want[wrong]
    at = tuple(np.argwhere(~_fits(one, other))[0])
    name = f"{names[wrong]}[{', '.join(map(str, at))}]"
    seen = f"{where}{name} is {one[at]:.6g}; right is {other[at]:.6g}."
    for formula, hint in slips:
        with np.errstate(all="ignore"):
            instead = formula()
        if instead is not None and all(near(a, b) for a, b in zip(got, instead)):
            return Finding(seen, hint)
    if not np.isfinite(one[np.isfinite(other)]).all():
        return Finding(seen, OVERFLOW if large else nan)
    if near(one, other, FEW_DIGITS):
        return Finding(seen, checks.DIGITS)
    return Finding(seen, otherwise)


def _fits(one, other):
    size = max(1e-3, float(np.abs(other[np.isfinite(other)]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        return (one == other) | (np.abs(one - other) <= ROUNDING * size)


def distributed_attention(
    expected: Callable[[Case], list[np.ndarray]],
    slips: Sequence[tuple[Callable[[Case], list[np.ndarray]], str]],
    otherwise: str,
) -> Check:
    """Every rank returns its part of what expected(case) gives for all ranks."""

    def check(case: Case, answer: Answer) -> Finding | None:
        want = expected(case)
        if all(map(near, answer.results, want)):
            return None
        rank = next(r for r, (got, right) in enumerate(zip(answer.results, want)) if not near(got, right))
        seen = (answer.results[rank],), (want[rank],)
        finding = compared(*seen, [], otherwise, "large" in case.label, f"rank {rank}: ", OWN_KEY)
        for formula, hint in slips:
            with np.errstate(all="ignore"):
                if all(map(near, answer.results, formula(case))):
                    return finding._replace(hint=hint)
        return finding

    return check
