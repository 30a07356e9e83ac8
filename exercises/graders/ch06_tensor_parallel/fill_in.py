"""Level 2 of chapter 6, fill in: the two linear layers, forward and backward."""

import numpy as np

from exercises.grading import Case, Distributed, checks

from .common import Part, all_reduces, returns


def layers(by_columns):
    """Cases in which the ranks have widths[r] columns, or rows, of a matrix; the other side is k, for n tokens."""

    def cases(rng):
        for n, k, widths in (
            (4, 6, (3, 3)),
            (5, 4, (2, 2, 2)),
            (3, 5, (4, 1, 2)),
            (2, 7, (3, 1, 2, 3, 2)),
            (6, 3, (4,)),
            (60, 50, (40, 30, 20)),
        ):
            x, dy, bias = rng.standard_normal((n, k)), rng.standard_normal((n, k)), rng.standard_normal(k)
            ranks = []
            for own in widths:
                mine, weight = rng.standard_normal((n, own)), rng.standard_normal((k, own))
                ranks.append(
                    (x, weight, rng.standard_normal(own), mine) if by_columns else (mine, weight.T.copy(), bias, dy)
                )
            label = f"{checks.count(len(widths), 'rank')}, n = {n}, k = {k}, own = {', '.join(map(str, widths))}"
            yield Case(label, tuple(ranks))

    return cases


def summed(term):
    """The sum over the ranks of what term(x, weight, bias, dy) makes of each rank's arguments."""
    return lambda case, rank: sum(term(*arguments) for arguments in case.arguments)


def own(term):
    """term(x, weight, bias, dy) of this rank's arguments."""
    return lambda case, rank: term(*case.arguments[rank])


def output(x, w, b, dy):
    return x @ w


def input_gradient(x, w, b, dy):
    return dy @ w.T


def weight_gradient(x, w, b, dy):
    return x.T @ dy


def bias_gradient(x, w, b, dy):
    return dy.sum(axis=0)


OF_OUTSIDE = "Its gradient is that of its own outputs only: no other rank has a part of it. What was added up?"
WEIGHTS = Part(
    "dweight",
    own(weight_gradient),
    [
        (summed(weight_gradient), f"dweight is summed over the ranks. {OF_OUTSIDE}"),
        (own(lambda x, w, b, dy: x.T @ dy / len(x)), "dy is the gradient of the loss already: divide by nothing."),
        (own(lambda x, w, b, dy: dy.T @ x), "dweight is turned over: it has the shape of weight."),
        (
            lambda case, rank: case.ranks * weight_gradient(*case.arguments[rank]),
            "dweight is P times what is right. dy is whole on every rank: nothing has to be added up for it.",
        ),
    ],
    "Each weight joins an input and an output: add up, over the tokens, the one times the gradient of the other.",
)
BIAS = Part(
    "dbias",
    own(bias_gradient),
    [
        (
            own(lambda x, w, b, dy: dy.mean(axis=0)),
            "That is a mean over the tokens. dy is the gradient of the loss already, so each token's counts with "
            "weight 1.",
        ),
        (own(lambda x, w, b, dy: dy.sum(axis=1)), "Summed over the outputs. dbias has one number for each output."),
        (own(lambda x, w, b, dy: dy), "The bias was added for every token: dbias has one number for each output."),
        (
            lambda case, rank: case.ranks * bias_gradient(*case.arguments[rank]),
            "dbias is P times what is right. dy is the same on every rank, and an all-reduce adds up equal numbers.",
        ),
        (summed(bias_gradient), f"dbias is summed over the ranks. {OF_OUTSIDE}"),
    ],
    "The bias is added to the outputs of every token. What is its gradient?",
)


def with_bias(x, w, b, dy):
    return x @ w + b


column_linear = Distributed(
    cases=layers(by_columns=True),
    checks=[
        returns(
            Part(
                "y",
                own(with_bias),
                [
                    (own(output), "The bias is missing in y."),
                    (
                        summed(with_bias),
                        "y is summed over the ranks. Each rank has columns of its own, which are complete: they lie "
                        "beside each other.",
                    ),
                    (
                        lambda case, rank: np.concatenate([with_bias(*each) for each in case.arguments], axis=1),
                        "y has the columns of all ranks. Here they stay cut, which is why the forward pass needs no "
                        "message.",
                    ),
                ],
                "A linear layer with this rank's weight and bias, and no more.",
            ),
            Part(
                "dx",
                summed(input_gradient),
                [
                    (
                        own(input_gradient),
                        "dx is this rank's term alone: the gradient that comes back through its own columns. All ranks "
                        "have used x. What is the gradient of something that was copied to P ranks?",
                    ),
                    (
                        lambda case, rank: summed(input_gradient)(case, rank) / case.ranks,
                        "dx is the mean over the ranks. The terms are different ones, of one sum.",
                    ),
                ],
                "dY A^T, with all columns: the sum over the ranks of what each can compute.",
            ),
            WEIGHTS,
            BIAS,
        ),
        *all_reduces(
            1,
            lambda case: case.arguments[0][0].size,
            "One tensor here is a sum over the ranks, the gradient of what they all have used.",
        ),
    ],
    endings={
        "___": "A blank is not filled in yet: replace each ___ by an expression.",
        "mismatch in its core dimension": "Two matrices do not fit. Write the shapes down: x [n, k], weight [k, own], "
        "dy [n, own]. Which product gives [n, k], and which one [k, own]?",
        "CollectiveMismatch": "The ranks' arrays differ in size. Which tensor has the same shape on every rank?",
        "Truncation": "The ranks' arrays differ in size. Which tensor has the same shape on every rank?",
    },
    hints=[
        "Forget the ranks first: for Y = X A + bias, write down the three gradients. Then: which of these needs more "
        "than this rank's columns?",
        "dX = dY A^T is a sum over all columns, and this rank has some of them. dA = X^T dY has its own columns.",
        "shared is dy @ weight.T; after the all-reduce it is dx. The others are x @ weight + bias, x.T @ dy, and the "
        "sum of dy over the tokens.",
    ],
)


def times_bias(case, rank):
    """The sum with the bias on every rank."""
    return summed(output)(case, rank) + case.ranks * case.arguments[0][2]


row_linear = Distributed(
    cases=layers(by_columns=False),
    checks=[
        returns(
            Part(
                "y",
                lambda case, rank: summed(output)(case, rank) + case.arguments[0][2],
                [
                    (
                        times_bias,
                        "The bias is in y once for every rank. Where does it stand: before the sum, or behind it?",
                    ),
                    (summed(output), "The bias is missing in y."),
                    (own(output), "y is this rank's term alone, without the bias: nothing was added up."),
                    (own(with_bias), "y is this rank's term alone, and the bias: nothing was added up."),
                    (
                        lambda case, rank: summed(output)(case, rank) / case.ranks + case.arguments[0][2],
                        "y is the mean over the ranks. The terms are different ones, of one sum.",
                    ),
                ],
                "Y = X_0 A_0 + X_1 A_1 + ... + bias: one term on each rank.",
            ),
            Part(
                "dx",
                own(input_gradient),
                [
                    (
                        summed(input_gradient),
                        "dx is summed over the ranks. This rank's columns of X have met its own rows of A only.",
                    ),
                    (
                        lambda case, rank: case.ranks * input_gradient(*case.arguments[rank]),
                        "dx is P times what is right. dy is whole on every rank: an all-reduce adds up equal "
                        "gradients.",
                    ),
                ],
                "The gradient of a sum is the same for each term. So this is the backward pass of a linear layer with "
                "this rank's weight.",
            ),
            WEIGHTS,
            BIAS,
        ),
        *all_reduces(
            1,
            lambda case: case.arguments[0][3].size,
            "One tensor here is a sum over the ranks: the output.",
        ),
    ],
    endings={
        "___": "A blank is not filled in yet: replace each ___ by an expression.",
        "mismatch in its core dimension": "Two matrices do not fit. Write the shapes down: x [n, own], weight [own, "
        "k], "
        "dy [n, k]. Which product gives [n, own], and which one [own, k]?",
        "CollectiveMismatch": "The ranks' arrays differ in size. Which tensor has the same shape on every rank?",
        "Truncation": "The ranks' arrays differ in size. Which tensor has the same shape on every rank?",
    },
    hints=[
        "Each rank can make one term of Y. What has the shape of Y on every rank, and is not complete?",
        "After the all-reduce all ranks hold X A. The bias is still to come. Backward every rank has dy already.",
        "shared is x @ weight; then return shared + bias, and the three gradients of a linear layer with this rank's x "
        "and weight.",
    ],
)
