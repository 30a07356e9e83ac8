"""Level 4 of chapter 6, repair: a feed-forward network with three mistakes."""

import numpy as np

from exercises.grading import Case, Distributed, checks

from .common import Part, all_reduces, returns


def networks(rng):
    """Cases (n, h, units of each rank)."""
    for n, h, widths in ((4, 3, (5, 5)), (3, 4, (2, 2, 2)), (2, 5, (3, 1, 2, 4)), (5, 2, (6,)), (60, 50, (40, 30))):
        x, dz, b = rng.standard_normal((n, h)), rng.standard_normal((n, h)), rng.standard_normal(h)
        ranks = tuple(
            (x, rng.standard_normal((h, own)) / h, *map(rng.standard_normal, (own, (own, h))), b, dz) for own in widths
        )
        yield Case(f"{checks.count(len(widths), 'rank')}, n = {n}, h = {h}, units {', '.join(map(str, widths))}", ranks)


def term(x, A, a, B, b, dz):
    """A rank's term of z."""
    return np.tanh(x @ A + a) @ B


def gradient(x, A, a, B, b, dz):
    """A rank's term of dx."""
    return (dz @ B.T * (1 - np.tanh(x @ A + a) ** 2)) @ A.T


def total(of, case):
    """The sum over the ranks."""
    return sum(of(*arguments) for arguments in case.arguments)


bias_once = Distributed(
    cases=networks,
    checks=[
        returns(
            Part(
                "z",
                lambda case, rank: total(term, case) + case.arguments[0][4],
                [
                    (
                        lambda case, rank: total(term, case) + case.ranks * case.arguments[0][4],
                        "z is too large by P - 1 times the second bias. Which line adds it, and how many ranks do "
                        "that before the sum?",
                    ),
                    (
                        lambda case, rank: total(term, case),
                        "The second bias is missing in z now: once, behind the sum.",
                    ),
                    (
                        lambda case, rank: term(*case.arguments[rank]) + case.arguments[0][4],
                        "z is this rank's term alone now: the sum over the ranks was right.",
                    ),
                    (
                        lambda case, rank: (total(term, case) + case.ranks * case.arguments[0][4]) / case.ranks,
                        "z is a mean over the ranks now. The bias would be right so, but the terms are those of a sum.",
                    ),
                ],
                "What each rank can compute is a term of a sum, and the second bias is no part of the terms.",
            ),
            Part(
                "dx",
                lambda case, rank: total(gradient, case),
                [
                    (
                        lambda case, rank: gradient(*case.arguments[rank]),
                        "dx is another one on each rank: what comes back through its own units. All ranks have used "
                        "x. What is the gradient of copies?",
                    ),
                    (
                        lambda case, rank: case.ranks * total(gradient, case),
                        "dx is P times what is right: was something summed that was whole already?",
                    ),
                    (
                        lambda case, rank: total(gradient, case) / case.ranks,
                        "dx is the mean over the ranks. Each rank's is a term of a sum.",
                    ),
                ],
                "For one rank dx is right. Which sum over units is incomplete where a rank has some of the units?",
            ),
            Part(
                "db",
                lambda case, rank: case.arguments[0][5].sum(axis=0),
                [
                    (
                        lambda case, rank: case.ranks * case.arguments[0][5].sum(axis=0),
                        "db is P times what is right. dz is the same on every rank; what does a sum of equal "
                        "gradients give?",
                    ),
                    (
                        lambda case, rank: case.arguments[0][5].sum(axis=0) / case.ranks,
                        "db is a P-th of what is right. dz is the same on every rank, and whole.",
                    ),
                    (
                        lambda case, rank: case.arguments[0][5].mean(axis=0),
                        "db is a mean over the tokens. dz is the gradient of the loss already.",
                    ),
                ],
                "Every rank has the whole dz, and b was added to each token once.",
            ),
        ),
        *all_reduces(
            2,
            lambda case: 2 * case.arguments[0][0].size,
            "z and dx are sums over the ranks. db needs nobody else's numbers.",
        ),
    ],
    endings={
        "CollectiveMismatch": "The ranks' arrays differ in size: units are not equally many. What has the same shape "
        "on every rank?",
        "Truncation": "The ranks' arrays differ in size: units are not equally many. What has the same shape on every "
        "rank?",
    },
    hints=[
        "Run it in your head on two ranks with one unit each. Write for every line: is this whole, a part of the "
        "columns, or a term of a sum?",
        "Terms of a sum are y @ B and the last product. What is whole: b, dz, and with it db. An all-reduce of what is "
        "whole multiplies it by P.",
        "Add b behind the all-reduce of z; leave out the all-reduce of db; all-reduce dx.",
    ],
)
