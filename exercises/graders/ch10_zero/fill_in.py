"""Level 2 of chapter 10, fill in: Adam with its state in shards."""

import numpy as np

from exercises.grading import Case, Distributed, checks

from ..ch02_data_parallel.common import called, no_more_than
from ..ch06_tensor_parallel.common import Part, returns


def steps(*rows):
    """Cases (ranks, N, number of the step)."""

    def cases(rng):
        for P, N, t in rows:
            n = -(-N // P)
            moments = np.zeros((2, P * n))
            moments[:, :N] = rng.standard_normal(N) / 5, rng.random(N) / 20
            weights = rng.standard_normal(N)
            ranks = [
                (weights.copy(), rng.standard_normal(N), m.copy(), v.copy(), t, 0.01)
                for m, v in zip(*(np.split(each, P) for each in moments))
            ]
            yield Case(f"{checks.count(P, 'rank')}, N = {N}, n = {n}, t = {t}", tuple(ranks))

    return cases


def padded(case, x):
    """An array [N] with zeros behind it, [P n]."""
    P, n = case.ranks, len(case.arguments[0][2])
    return np.pad(x, (0, P * n - len(x)))


def everything(case, gradient=None, shift=0):
    """(weights, m, v) of the whole model after the step, [P n]; or with another gradient, or the weights of others."""
    w, _, _, _, t, rate = case.arguments[0]
    m, v = (np.concatenate([arguments[place] for arguments in case.arguments]) for place in (2, 3))
    g = padded(case, mean(case) if gradient is None else gradient)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    w = np.roll(padded(case, w), shift)
    return w - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


def mean(case):
    """The gradient of the mean loss over all ranks' samples, [N]."""
    return sum(arguments[1] for arguments in case.arguments) / case.ranks


def weights(case, rank, **other):
    return everything(case, **other)[0][: len(case.arguments[0][0])]


def shard(case, rank, which, **other):
    """A rank's part of the new weights (0), m (1) or v (2)."""
    n = len(case.arguments[0][2])
    return everything(case, **other)[which][rank * n : rank * n + n]


def own_gradient(case, rank):
    return case.arguments[rank][1]


def own_all(case, rank, part=1.0):
    """The weights if each shard's owner uses its own gradient, or a part of it."""
    shards = [shard(case, each, 0, gradient=own_gradient(case, each) * part) for each in range(case.ranks)]
    return np.concatenate(shards)[: len(case.arguments[0][0])]


SUM = (
    "The gradients are added up and not divided. Each is that of a mean over the rank's own samples: of how many such "
    "means is it the sum?"
)
TWICE = "The gradient is averaged twice: it was divided by P, and then once more. One division by P is enough."
NOBODY = "Each rank uses its own gradient alone. The other ranks' samples count as much: what adds the gradients up?"
OWN = "Each rank has its own gradient, divided by P. The other ranks' samples are missing: what adds the gradients up?"


def about(which):
    """The slips of the gradient, as they show in m (1) or v (2)."""
    return [
        (lambda case, rank: shard(case, rank, which, gradient=mean(case) * case.ranks), SUM),
        (lambda case, rank: shard(case, rank, which, gradient=mean(case) / case.ranks), TWICE),
        (lambda case, rank: shard(case, rank, which, gradient=own_gradient(case, rank)), NOBODY),
        (
            lambda case, rank: everything(case)[which],
            "That is the whole model's moment. A rank keeps its shard of it, [n]: this is what stage 1 saves.",
        ),
    ]


def collectives(case, made):
    """The hint for other calls than asked for."""
    if not made:
        return "Nothing was sent. Which gradients does a rank lack, and which weights does it lack afterwards?"
    if "Allreduce" in made:
        return (
            "An all-reduce brings the whole gradient to every rank, which needs its own shard alone. The half of it "
            "that adds up and gives each rank its part is enough: Reduce_scatter_block."
        )
    if made.count("Allgather") > 1:
        return (
            "Only weights are gathered. The moments stay where they are: nobody else needs them, and whoever gathers "
            "them has the optimizer's state of the whole model again."
        )
    return "One Reduce_scatter_block for the gradients and one Allgather for the weights: no call more, and none less."


sharded_adam = Distributed(
    cases=steps((2, 6, 3), (3, 7, 1), (4, 3, 5), (5, 12, 2), (1, 4, 7), (3, 2, 4), (3, 2000, 10)),
    checks=[
        returns(
            Part(
                "weights",
                weights,
                [
                    (lambda case, rank: weights(case, rank, gradient=mean(case) * case.ranks), SUM),
                    (lambda case, rank: weights(case, rank, gradient=mean(case) / case.ranks), TWICE),
                    (lambda case, rank: own_all(case, rank), NOBODY),
                    (lambda case, rank: weights(case, rank, gradient=own_gradient(case, rank)), NOBODY),
                    (lambda case, rank: own_all(case, rank, 1 / case.ranks), OWN),
                    (
                        lambda case, rank: weights(case, rank, gradient=case.arguments[0][0]),
                        "The weights went through the reduce-scatter. It is gradients that have to be added up.",
                    ),
                    (
                        lambda case, rank: weights(case, rank, gradient=mean(case) * case.ranks / len(mean(case))),
                        "The gradients are divided by the number of weights. They are a sum over the ranks: how many "
                        "means were added up?",
                    ),
                    (
                        lambda case, rank: everything(case)[0],
                        "The padding is still there. The model has N weights; what the ranks gather is a little more.",
                    ),
                    (
                        lambda case, rank: shard(case, rank, 0),
                        "Those are the weights of this rank's shard. The forward pass needs all of them.",
                    ),
                    (
                        lambda case, rank: case.arguments[rank][0],
                        "The weights are those from before the step. Is the updated shard what is gathered?",
                    ),
                    (
                        lambda case, rank: np.concatenate([shard(case, 0, 0)] * case.ranks)[: len(mean(case))],
                        "Every rank has updated the shard of rank 0. Which weights belong to rank r?",
                    ),
                ],
                "Each rank updates the weights r n to r n + n - 1, with its own m and v and the mean gradient of just "
                "these. Do the four parts belong to the same elements?",
            ),
            Part("m", lambda case, rank: shard(case, rank, 1), about(1), "0.9 m + 0.1 g, for the rank's own shard."),
            Part("v", lambda case, rank: shard(case, rank, 2), about(2), "0.999 v + 0.001 g g, for the rank's shard."),
        ),
        called(lambda case: ["Allgather", "Reduce_scatter_block"], collectives),
        no_more_than(
            lambda case: case.ranks * len(case.arguments[0][2]),
            "a reduce-scatter of gradients and an all-gather of weights",
            "More numbers travel than are needed. Gradients are scattered once and weights gathered once, both with "
            "the padding: P n numbers each.",
        ),
    ],
    endings={
        "___": "A blank is not filled in yet: replace each ___ by an expression.",
        "broadcast": "Two arrays have different lengths. What is whole has P n numbers with its padding, "
        "what belongs to the rank has n.",
        "count": "The arrays do not fit the call: what is whole has P n numbers with its padding, one row of `padded`; "
        "a part has n.",
        "Truncation": "The arrays do not fit the call: what is whole has P n numbers with its padding, and a part has "
        "n.",
        "CollectiveMismatch": "The ranks' arrays differ in length. With the padding every rank has n numbers.",
    },
    hints=[
        "Follow one weight: on which rank are its moments? What does this rank need of the others, and they of it?",
        "padded has two rows of P n numbers: weights and gradients. The reduce-scatter takes one of them; the other is "
        "cut at r n.",
        "g is a sum of P means. What is gathered is `mine`, after the step, and of `after` the first N are the model.",
    ],
)
