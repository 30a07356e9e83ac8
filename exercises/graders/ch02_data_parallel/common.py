"""What several exercises of chapter 2 ask of an answer."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from exercises.grading import Answer, Case, Finding, checks, sums
from exercises.grading.exercise import ALPHA, BETA, Check

ROUNDING = 1e-12  # relative: float64 adds some ten numbers with less, in any order


class Wanted(NamedTuple):
    """A result that should be sum of weights[k] times parts[k]: where it stands, what is there, what the parts are."""

    where: str
    rank: int
    case: Case
    got: np.ndarray
    parts: dict[str, np.ndarray]
    weights: np.ndarray


Slip = tuple[Callable[[Wanted], Sequence[float] | np.ndarray], str]  # (the weights of a known mistake, the hint)


def weighted_sums(
    wanted: Callable[[Case, Answer], Iterable[Wanted]],
    legend: str,
    slips: Sequence[Slip],
    otherwise: str | Callable[[Wanted, np.ndarray], str],
    nothing: str,
    divided_by_0: str = "Was something divided by 0, or read from np.empty before anything had been written there?",
) -> Check:
    """Results are weighted sums. From a wrong one its weights are found, as sums.py does, and compared with slips.

    legend      what the names of the parts mean, such as "g0 is the gradient of rank 0"
    otherwise   the hint for weights that no slip has, or a function of what was wanted and of them
    nothing     the hint for what is no weighted sum of the parts at all
    divided_by_0  the hint for what is not finite
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for each in wanted(case, answer):
            parts = np.stack(list(each.parts.values()))
            error = np.abs(each.got - each.weights @ parts)
            size = np.abs(each.weights) @ np.abs(parts)
            if not (error <= ROUNDING * size).all():
                return finding(each, error, size)
        return None

    def finding(each: Wanted, error: np.ndarray, size: np.ndarray) -> Finding:
        if not np.isfinite(each.got).all():
            return Finding(
                f"{each.where} has {each.got[~np.isfinite(each.got)][0]} in its result.",
                divided_by_0,
            )
        if (error <= checks.FEW_DIGITS * size).all():
            return Finding(
                f"{each.where} is right in its first digits only (largest error {error.max():.1e}).",
                checks.DIGITS,
            )
        found = sums.recipe(each.got, [[part] for part in each.parts.values()])
        if found is None:
            what = "nothing but zeros" if not each.got.any() else f"{each.got[0]:.6g}, ..."
            return Finding(f"{each.where} has {what}; right is {_formula(each, each.weights)} ({legend}).", nothing)
        matters = [bool(part.any()) for part in each.parts.values()]  # a part of zeros has any weight
        alike = lambda weights: np.allclose(np.asarray(weights)[matters], found[matters, 0], atol=2e-6)  # noqa: E731
        hints = (hint for weights, hint in slips if alike(weights(each)))
        seen = f"{each.where} has {_formula(each, found[:, 0])}; right is {_formula(each, each.weights)} ({legend})."
        rest = otherwise if isinstance(otherwise, str) else otherwise(each, found[:, 0])
        return Finding(seen, next(hints, rest))

    return check


def held(case: Case) -> list[tuple[Sequence, Sequence]]:
    """For each rank its gradients and their numbers of samples, be it one or a list of them."""
    return [(g, n) if isinstance(g, list) else ([g], [n]) for g, n, *_ in case.arguments]


def counts_of(each: Wanted) -> np.ndarray:
    """Samples of every gradient, those of rank 0 first."""
    return np.array([count for _, counts in held(each.case) for count in counts])


def of_owner(each: Wanted, what: Callable[[Sequence], float]) -> np.ndarray:
    """For every gradient, something of the list of the samples that its rank has: sum, len, ..."""
    return np.array([what(counts) for _, counts in held(each.case) for _ in counts])


def alone(each: Wanted) -> np.ndarray:
    """1 for the rank's own gradients, 0 for the others'."""
    return np.array([float(rank == each.rank) for rank, (_, counts) in enumerate(held(each.case)) for _ in counts])


def mean_over_samples(legend: str, slips: Sequence[Slip], otherwise: str, nothing: str) -> Check:
    """Every rank has the gradient of the mean over all samples, made of the gradients of means that the ranks have."""

    def wanted(case: Case, answer: Answer) -> Iterable[Wanted]:
        parts = {
            f"g{rank}" + f"[{k}]" * isinstance(case.arguments[0][0], list): gradient
            for rank, (gradients, _) in enumerate(held(case))
            for k, gradient in enumerate(gradients)
        }
        for rank, got in enumerate(answer.results):
            each = Wanted(f"rank {rank}", rank, case, got, parts, np.zeros(0))
            yield each._replace(weights=counts_of(each) / counts_of(each).sum())

    return weighted_sums(wanted, legend, [*OF_MEANS, *slips], otherwise, nothing, NO_SAMPLES)


NO_SAMPLES = (
    "Something was divided by 0, or read from np.empty. Which rank has no samples, and what does your code divide by "
    "there?"
)
OF_MEANS: list[Slip] = [
    (
        lambda each: np.ones(len(counts_of(each))),
        "All means are added up, and nothing is weighted or divided. A gradient of the mean over 4 samples stands for "
        "more than one over 2.",
    ),
    (
        lambda each: 1 / np.full(len(counts_of(each)), counts_of(each).sum()),
        "You divide by the number of all samples, but what was added up are means: each stands for so many samples.",
    ),
    (
        counts_of,
        "The weights are right and the sum is not divided: that is the gradient of a sum over samples. A mean over how "
        "many?",
    ),
    (
        lambda each: counts_of(each) / counts_of(each).sum() / each.case.ranks,
        "Divided twice: by the number of samples and by the number of ranks. Once each sample is weighted by 1 over "
        "the number of all samples, the ranks do not matter any more.",
    ),
    (
        lambda each: counts_of(each) / max(counts_of(each) @ alone(each), 1),
        "Each rank divides by the number of its own samples, so the ranks get different results. How many are there on "
        "all ranks?",
    ),
]


def _formula(each: Wanted, weights: np.ndarray) -> str:
    """Weights in words: "0.8 g0 + 0.2 g1"."""
    terms = [f"{'' if w == 1 else f'{w:.3g} '}{name}" for name, w in zip(each.parts, weights) if w]
    return " + ".join(terms).replace("+ -", "- ")


def only_collectives(case: Case, answer: Answer) -> Finding | None:
    """Collective calls for arrays, and no others."""
    pickles = (
        "comm.{} pickles its object: more bytes, and copies. The call with a capital letter sends the array as it is."
    )
    for rank, calls in enumerate(answer.calls):
        for name in sorted(calls):
            if checks.kind(name) == "message":
                return Finding(
                    f"rank {rank} called comm.{name}.",
                    "Messages between two ranks can do it, one by one. The library's collective calls do it in fewer "
                    "steps: leave it to them.",
                )
            if checks.kind(name) != "other" and name.islower():
                return Finding(f"rank {rank} called comm.{name}, with a small letter.", pickles.format(name))
            if name.lower().endswith("barrier"):
                return Finding(
                    f"rank {rank} called comm.{name}.",
                    "It moves no data, and does not help: a collective call waits for whoever has to give anything.",
                )
    return None


def called(names: Callable[[Case], list[str]], hint: str | Callable[[Case, list[str]], str]) -> Check:
    """Every rank makes the collective calls names(case), in any order, and no others; hint(case, the calls it made).

    Where a call that waits is asked for, one that begins and a Wait are as good.
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        if finding := only_collectives(case, answer):
            return finding
        for rank in range(case.ranks):
            made = communicated(answer, rank)
            if names(case) not in (made, [name.replace("Iallreduce", "Allreduce") for name in made]):
                times = [f"{name} {checks.count(made.count(name), 'time')}" for name in sorted(set(made))]
                seen = f"rank {rank} called {', '.join(times) or 'no collective'}."
                return Finding(seen, hint(case, made) if callable(hint) else hint)
        return None

    return check


def one_sum(several: Callable[[Case, list[str]], str]) -> Check:
    """Every rank calls Allreduce once and no other collective; `several` is the hint for more calls."""

    def hint(case: Case, made: list[str]) -> str:
        if not made:
            return "Nothing was sent: each rank has its own samples only."
        if made in (["Reduce"], ["Ireduce"]):
            return "Reduce gives the sum to one rank only, the root. Every rank updates its replica, and needs it."
        return several(case, made)

    return called(lambda case: ["Allreduce"], hint)


def no_more_than(elements: Callable[[Case], int], what: str, hint: str) -> Check:
    """All ranks together send what ring all-reduces of so many float64 take, and no more; `what` names what they are.

    On real ranks it cannot be seen.
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        sent = sum(nbytes for messages in answer.sent for _, nbytes in messages)
        most = 2 * (case.ranks - 1) * elements(case) * 8
        if sent <= most or answer.seconds is None:
            return None
        return Finding(f"all ranks together sent {checks.count(sent, 'byte')}; {what} take at most {most:,}.", hint)

    return check


def two_arrays(size: Callable[[Case], int], of: str, hint: str) -> Check:
    """Every rank returns two float64 arrays of so many elements; `hint` is for those of another shape."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, got in enumerate(answer.results):
            matrix = isinstance(got, np.ndarray) and got.ndim == 2
            if not (isinstance(got, tuple | list) or matrix) or len(got) != 2:
                what = "None" if got is None else f"a {type(got).__name__}"
                return Finding(f"rank {rank} returned {what}.", f"Return two arrays: `return {of}`.")
            if strange := [type(each).__name__ for each in got if not isinstance(each, np.ndarray)]:
                return Finding(f"rank {rank} returned a {strange[0]} among the two.", f"Two NumPy arrays: {of}.")
            shapes, kinds = [np.shape(array) for array in got], {np.asarray(array).dtype for array in got}
            if shapes != [(size(case),)] * 2:
                seen = f"arrays of shapes {shapes[0]} and {shapes[1]}; both should have ({size(case)},)."
                return Finding(f"rank {rank} returned {seen}", hint)
            if kinds != {np.dtype(np.float64)}:
                seen = f"rank {rank} returned numbers of {' and '.join(sorted(map(str, kinds)))}, not only of float64."
                return Finding(seen, "Is an array made with another element type than x has? Look at np.empty, astype.")
        return None

    return check


def communicated(answer: Answer, rank: int) -> list[str]:
    """The names of the collective calls of a rank, each as often as it was called."""
    return sorted(name for name in answer.calls[rank].elements() if checks.kind(name) == "collective")


def allreduce_seconds(P: int, elements: int) -> float:
    """What a ring all-reduce of so many float64 takes on the graders' network."""
    return 2 * (P - 1) * (ALPHA + -(-elements // P) * 8 * BETA)
