"""Level 4 of chapter 10, repair: clipping by the norm of all shards."""

import math

import numpy as np

from exercises.grading import Case, Distributed, Finding, checks

from ..ch06_tensor_parallel.common import Part, all_reduces, returns


def shards(*rows):
    """Cases (length of a shard, real of the ranks of one replica, replicas, limit over the norm, the padding)."""

    def cases(rng):
        for n, reals, replicas, longest, padding in rows:
            parts = [rng.standard_normal(n) * (longest is not None) for _ in reals]
            norm = math.sqrt(sum((part[:real] ** 2).sum() for part, real in zip(parts, reals)))
            for part, real in zip(parts, reals):
                part[real:] = padding
            limit = 1.0 if longest is None else norm * longest
            ranks = [(part.copy(), real, replicas, limit) for part, real in list(zip(parts, reals)) * replicas]
            long = "a gradient of zeros" if longest is None else "too long" if longest < 1 else "short enough"
            shown = f"n = {n}, {checks.count(replicas, 'replica')}, real = {', '.join(map(str, reals))}"
            yield Case(f"{checks.count(len(ranks), 'rank')}, {shown}, {long}", tuple(ranks))

    return cases


def squares(case, rank, padding=False):
    """The sum of squares of a rank's shard."""
    gradient, real, _, _ = case.arguments[rank]
    own = gradient if padding else gradient[:real]
    return float((own * own).sum())


def every(case, replicas=None, **other):
    """The sum of squares of the model; `replicas`: by how much the sum over all ranks is divided."""
    replicas = case.arguments[0][2] if replicas is None else replicas
    return sum(squares(case, rank, **other) for rank in range(case.ranks)) / replicas


def norm(case, rank=0):
    return math.sqrt(every(case))


def lengths(case):
    """The norm of each rank's shard."""
    return [math.sqrt(squares(case, rank)) for rank in range(case.ranks)]


def clipped(case, rank, by=norm, always=False):
    """A rank's shard after clipping; or with another norm, or if a short gradient is made longer."""
    gradient, real, _, limit = case.arguments[rank]
    length = by(case, rank)
    scaled = np.zeros_like(gradient)
    factor = limit / length if length else 1.0
    scaled[:real] = gradient[:real] * (factor if always else min(1.0, factor))
    return scaled


def no_nan(case, answer):
    """NaN and infinity come from the padding or from a division by 0."""
    for rank, got in enumerate(answer.results):
        parts = got if isinstance(got, tuple | list) else ()
        if any(isinstance(part, float | np.ndarray) and not np.isfinite(part).all() for part in parts):
            return Finding(
                f"rank {rank}: there is NaN or infinity in the result.",
                "What stands in the padding must not be computed with: NaN times 0 is NaN. And a gradient of zeros has "
                "the norm 0, by which nothing can be divided.",
            )
    return None


def own_norm(case, rank):
    return lengths(case)[rank]


def sum_of_norms(case, rank):
    return sum(lengths(case))


clip_by_global_norm = Distributed(
    cases=shards(
        (4, (4, 4), 1, 0.5, 0.0),
        (3, (3, 3, 2), 1, 0.25, 2.0),
        (4, (4, 3), 2, 0.5, 1.5),
        (5, (5, 5), 1, 2.0, 0.0),
        (5, (5, 2, 0), 1, 0.5, 3.0),
        (3, (3,), 3, 0.1, 0.0),
        (3, (3, 1), 1, 0.5, math.nan),
        (3, (2, 0), 1, None, math.nan),
        (4, (3,), 1, 0.7, 1.0),
        (1200, (1200, 1190), 2, 0.5, math.nan),
    ),
    checks=[
        no_nan,
        returns(
            Part(
                "norm",
                norm,
                [
                    (
                        own_norm,
                        "That is the norm of this rank's shard. Clipped by it, every rank would scale by another "
                        "factor, and the gradient would point elsewhere.",
                    ),
                    (
                        sum_of_norms,
                        "Norms were added up over the ranks. Which numbers can be added, so that the root of the sum "
                        "is the norm?",
                    ),
                    (
                        lambda case, rank: sum(math.sqrt(squares(case, r, True)) for r in range(case.ranks)),
                        "Norms were added up over the ranks. Which numbers can be added, so that the root of the sum "
                        "is the norm?",
                    ),
                    (
                        lambda case, rank: math.sqrt(every(case, padding=True)),
                        "The padding is in it. What stands there belongs to no parameter: the first `real` elements "
                        "count.",
                    ),
                    (
                        lambda case, rank: math.sqrt(every(case, replicas=1)),
                        "Every element counts once for each replica. The replicas are copies of one gradient.",
                    ),
                    (
                        lambda case, rank: math.sqrt(every(case, replicas=1, padding=True)),
                        "Every element counts once for each replica, and the padding is in it as well.",
                    ),
                    (
                        lambda case, rank: math.sqrt(every(case, replicas=1)) / case.arguments[0][2],
                        "The norm was divided by the replicas. It is the squares that were added up so often: what is "
                        "divided, before the root or behind it?",
                    ),
                    (
                        lambda case, rank: math.sqrt(every(case, replicas=case.ranks)),
                        "The squares are averaged over the ranks. Shards are different elements, and each counts; only "
                        "replicas are copies.",
                    ),
                    (lambda case, rank: every(case), "That is the sum of squares: the root is missing."),
                    (
                        lambda case, rank: max(lengths(case)),
                        "That is the largest of the shards' norms. The whole gradient is longer than each of its "
                        "parts.",
                    ),
                    (
                        lambda case, rank: min(norm(case), case.arguments[0][3]),
                        "That is the norm after clipping. Asked for is the one before: it tells how training goes.",
                    ),
                ],
                "The root of the sum of squares of all real elements of all shards, each element once.",
            ),
            Part(
                "clipped",
                clipped,
                [
                    (
                        lambda case, rank: clipped(case, rank, always=True),
                        "A short gradient was made longer. Clipping leaves alone what is no longer than the limit.",
                    ),
                    (
                        lambda case, rank: clipped(case, rank, by=own_norm),
                        "Each rank has clipped by the norm of its own shard. The factor must be the same everywhere.",
                    ),
                    (
                        lambda case, rank: clipped(case, rank, by=sum_of_norms),
                        "Clipped by the sum of the shards' norms, which is longer than the gradient.",
                    ),
                    (
                        lambda case, rank: clipped(case, rank, by=lambda case, rank: 0.0),
                        "The gradient is as long as before. Above the limit it is to be scaled.",
                    ),
                    (
                        lambda case, rank: np.where(
                            np.arange(len(case.arguments[rank][0])) < case.arguments[rank][1],
                            clipped(case, rank),
                            case.arguments[rank][0] * min(1.0, case.arguments[rank][3] / norm(case)),
                        ),
                        "There is something in the padding. It should be 0 there.",
                    ),
                    (
                        lambda case, rank: np.where(
                            np.arange(len(case.arguments[rank][0])) < case.arguments[rank][1],
                            clipped(case, rank),
                            case.arguments[rank][0],
                        ),
                        "There is something in the padding. It should be 0 there.",
                    ),
                    (
                        lambda case, rank: clipped(case, rank) / case.arguments[0][3],
                        "Scaled to the norm 1, where it is longer than the limit. Asked for is the norm `limit`.",
                    ),
                ],
                "The rank's shard times limit / norm, if the norm is above the limit, and 0 in the padding.",
            ),
        ),
        *all_reduces(1, lambda case: 1, "One number of each rank is enough: the squares of its real elements."),
    ],
    endings={
        "ZeroDivisionError": "A gradient of zeros has the norm 0. It is short enough: nothing has to be divided.",
        "invalid value": "What stands in the padding must not be computed with, and 0 is no divisor.",
    },
    hints=[
        "Write down two ranks with two elements each, one of them padding. Which squares belong to the model's norm?",
        "What is added up over the ranks: norms, or squares? And how often does a replica's element come in?",
        "Leave the padding out first; divide the sum of squares by the replicas; take the root; scale only if the norm "
        "is above the limit.",
    ],
)
