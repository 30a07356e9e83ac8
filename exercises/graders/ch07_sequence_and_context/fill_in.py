"""Level 2 of chapter 7, fill in: the merge of two blocks, and an all-to-all between tokens and heads."""

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks
from exercises.grading.exercise import Answer

from ..ch02_data_parallel.common import called
from .common import attention, compared, parts


def halves(rng, s, d, scale=1.0, empty=()):
    """(o1, L1, o2, L2) of s queries over two sets of keys; `empty`: what each query sees, 1, 2 or nothing (0)."""
    q, found = rng.standard_normal((s, d)) * scale, []
    for half in (1, 2):
        k, v = rng.standard_normal((5, d)) * scale, rng.standard_normal((5, d))
        visible = np.ones((s, 5), bool)
        for row, sees in enumerate(empty):
            visible[row] = sees in (half, 3)
        found += attention(q, k, v, visible)
    return tuple(found)


def pairs_of_parts(*rows):
    """Cases (queries, width, scale of queries and keys, which sets each of the first queries sees)."""

    def cases(rng):
        for s, d, scale, empty in rows:
            what = ", scores of about 1,000" * (scale > 1)
            unseen = f", the first queries see the sets {list(empty)}" * bool(empty)
            yield Case(f"s = {s}, d = {d}{what}{unseen}", (halves(rng, s, d, scale, empty),))
        for L in (-1000.0, 1000.0):  # just beside each other, where exp alone is 0 or infinite
            o1, o2 = rng.standard_normal((2, 3, 4))
            gap = rng.standard_normal((2, 3))
            yield Case(f"L of about {L:g}", ((o1, L + gap[0], o2, L + gap[1]),))

    return cases


def together(o1, L1, o2, L2):
    """What is right."""
    L = np.logaddexp(L1, L2)
    base = np.where(np.isneginf(L), 0.0, L)
    return np.exp(L1 - base)[:, None] * o1 + np.exp(L2 - base)[:, None] * o2, L


def weighted(w1, w2, L):
    """A merge with other weights."""
    return lambda o1, L1, o2, L2: (w1(L1, L2)[:, None] * o1 + w2(L1, L2)[:, None] * o2, L(L1, L2))


OTHER_MERGES = [
    (
        weighted(lambda x, y: np.ones_like(x), lambda x, y: np.ones_like(x), np.logaddexp),
        "The outputs are added as they are: the sum of two averages. Each output is an average over its own keys, so "
        "each counts for as much as its keys weigh.",
    ),
    (
        weighted(lambda x, y: np.full_like(x, 0.5), lambda x, y: np.full_like(x, 0.5), np.logaddexp),
        "The mean of both: as if both sets of keys had the same weight. Their weights are exp(L1) and exp(L2).",
    ),
    (
        weighted(lambda x, y: x / (x + y), lambda x, y: y / (x + y), np.logaddexp),
        "Weighted by the logarithms. What do they stand for? exp(L) is the sum of the weights of a set.",
    ),
    (
        weighted(lambda x, y: np.exp(x - np.maximum(x, y)), lambda x, y: np.exp(y - np.maximum(x, y)), np.logaddexp),
        "The weights are right relative to each other, and nothing is divided: they do not add up to 1.",
    ),
    (
        weighted(lambda x, y: 1 / (1 + np.exp(x - y)), lambda x, y: 1 / (1 + np.exp(y - x)), np.logaddexp),
        "Each output has the weight of the other one.",
    ),
]


def joined(case, answer):
    """Both sets of keys together."""
    (arguments,), (got,) = case.arguments, answer.results
    if finding := parts(case, answer, arguments[0].shape[1]):
        return finding
    slips = [(lambda formula=formula: formula(*arguments), hint) for formula, hint in OTHER_MERGES]
    L = arguments[1]
    return compared(
        got,
        together(*arguments),
        slips,
        "exp(L1) and exp(L2) are the sums of the weights of both sets of keys. The output is an average over both: "
        "which part of all the weight has the first set? And what is the logarithm of both sums together?",
        large=bool(np.abs(L[np.isfinite(L)]).max(initial=0.0) > 300),
    )


merge_two = Exercise(
    cases=pairs_of_parts(
        (4, 3, 1.0, ()),
        (3, 8, 20.0, ()),
        (5, 4, 1.0, (3, 1, 2, 0)),
        (4, 6, 20.0, (0, 2, 1)),
        (300, 8, 1.0, ()),
        (1, 1, 1.0, ()),
    ),
    checks=[joined],
    hints=[
        "Take the example: L1 = log 3 says that the weights of the first set add up to 3. What is their part of all "
        "the weight, and what is the average of the averages 1 and 5 with these parts?",
        "The weights are exp(L1) and exp(L2), which may be infinite. Divide both by the same number, exp(m) with the "
        "larger of the two: exp(L - m) is at most 1, and the output is the same.",
        "m is -inf only where nothing is seen at all: it becomes 0, and exp(-inf - 0) is the 0 that is meant. What is "
        "divided by is w1 + w2.",
    ],
)


# Ulysses -------------------------------------------------------------------------------------------------------------


def tensors(*rows):
    """Cases (P, b, tokens, heads, d, back), with the shape of x on each rank."""

    def cases(rng):
        for P, b, tokens, heads, d, back in rows:
            label = f"{checks.count(P, 'rank')}, x of shape {(b, tokens, heads, d)}, back = {back}"
            yield Case(label, tuple((rng.standard_normal((b, tokens, heads, d)), back) for _ in range(P)))

    return cases


def fits(case):
    """Whether P divides what is to be shared out."""
    x, back = case.arguments[0]
    return x.shape[1 if back else 2] % case.ranks == 0


def refused(case, answer):
    """None on every rank where P does not divide."""
    x, back = case.arguments[0]
    for rank, got in enumerate(answer.results):
        if not fits(case) and got is not None:
            what = "tokens" if back else "heads"
            return Finding(
                f"rank {rank} returned an array.",
                f"{case.ranks} ranks cannot share {x.shape[1 if back else 2]} {what} alike: the result is None then.",
            )
    return None


def where_fitting(check):
    """The check, where P divides what is to be shared out."""
    return lambda case, answer: check(case, answer) if fits(case) else None


def shape(case, rank):
    """The shape of what is returned."""
    (b, tokens, heads, d), P = case.arguments[0][0].shape, case.ranks
    return (b, tokens // P, heads * P, d) if case.arguments[0][1] else (b, tokens * P, heads // P, d)


def right(case):
    """The results of all ranks."""
    xs, P = np.stack([x for x, _ in case.arguments]), case.ranks  # [P, b, tokens, heads, d]
    if case.arguments[0][1]:
        return [np.concatenate(cut, axis=2) for cut in zip(*(np.split(x, P, axis=1) for x in xs))]
    return [np.concatenate(cut, axis=1) for cut in zip(*(np.split(x, P, axis=2) for x in xs))]


def placed(case: Case, answer: Answer) -> Finding | None:
    """Every number is the one that belongs there."""
    want, back = right(case), case.arguments[0][1]
    for rank, (got, its) in enumerate(zip(answer.results, want)):
        if np.array_equal(got, its):
            continue
        at = tuple(int(i) for i in np.argwhere(got != its)[0])
        seen = f"rank {rank}: element {at} is {got[at]:.6g}; right is {its[at]:.6g}."
        if np.allclose(got, its, rtol=1e-4, atol=0):
            return Finding(seen, checks.DIGITS)
        return Finding(seen, misplaced(got, its, case, rank, back))
    return None


def misplaced(got, want, case, rank, back):
    """Recognise what stands where it should not."""
    P = case.ranks
    if not np.array_equal(np.sort(got, axis=None), np.sort(want, axis=None)):
        return (
            "Some of these numbers belong on another rank. send[j] goes to rank j: is it rank j's part of the "
            + ("tokens" if back else "heads")
            + ", for every sequence? Only then the axis of ranks may come first."
        )
    axis = 2 if back else 1
    apart = got.reshape(*got.shape[:axis], -1, P, *got.shape[axis + 1 :])
    if np.array_equal(np.moveaxis(apart, axis + 1, axis).reshape(want.shape), want):
        return (
            "The right numbers, and those of the ranks alternate: "
            + ("head" if back else "token")
            + " 0 of each rank, "
            "then the next of each. Which of the two axes that are joined must be the outer one?"
        )
    return (
        "All numbers are the right rank's, in another order. Write the meaning of each axis of `come` above it, then "
        "the order in which they must stand, and read the numbers for transpose off."
    )


ulysses_reshape = Distributed(
    cases=tensors(
        (2, 1, 3, 4, 2, False),
        (2, 1, 4, 2, 3, True),
        (3, 2, 2, 6, 2, False),
        (3, 2, 6, 2, 2, True),
        (4, 3, 5, 8, 1, False),
        (4, 3, 8, 3, 1, True),
        (3, 1, 6, 4, 2, False),
        (4, 2, 6, 4, 2, True),
        (1, 2, 3, 5, 2, False),
        (1, 2, 3, 5, 2, True),
        (2, 2, 40, 6, 8, False),
        (2, 2, 40, 6, 8, True),
    ),
    checks=[
        refused,
        where_fitting(checks.arrays(shape)),
        called(
            lambda case: ["Alltoall"] * fits(case),
            "Each rank has a piece for every rank, and all pieces are as long: one Alltoall, and nothing besides. "
            "Where P does not divide, every rank knows it by itself.",
        ),
        where_fitting(placed),
    ],
    hints=[
        "send must be [P, ...]: send[j] is what goes to rank j. So cut the axis that is shared out in two, P and the "
        "rest, and bring P to the front.",
        "The four shapes are: send and come have [P, b, tokens/P, heads, d] on the way back, and [P, b, tokens, "
        "heads/P, d] on the way there. come[j] is rank j's.",
        "Where two axes are joined the outer one comes first: the tokens of rank 0, then those of rank 1. So P must "
        "stand just before the axis that it is joined with: tokens on the way there, heads on the way back.",
    ],
)
