"""Level 3 of chapter 3, write: sparse and one-bit sums, local SGD, gossip, bounded staleness."""

import itertools

import numpy as np

from exercises.grading import Case, Distributed, Finding, checks, sums
from exercises.grading.exercise import ALPHA, BETA

from ..ch02_data_parallel.common import called, communicated, only_collectives
from .common import (
    CLOSE32,
    NUMBERED_AGAIN,
    Gradient,
    alike,
    allreduces,
    bytes_of_wires,
    part,
    result,
    same_on_all_ranks,
    several_arrays,
)

# Top-K ---------------------------------------------------------------------------------------------------------------


BEYOND_16_BITS = 2**16  # numbers of which the last ones have an index that 16 bits do not hold


def sparse_gradients(*rows):
    """Cases (P, d, k)."""

    def cases(rng):
        for P, d, k in rows:
            held = [(rng.standard_normal(d), rng.standard_normal(d)) for _ in range(P)]
            for g, _ in held if d > BEYOND_16_BITS else ():
                g[-k // 2 :] *= 100  # they are sent, whose indices are large
            label = f"{checks.count(P, 'rank')}, d = {d}, k = {k}"
            yield Case(label, tuple((g.astype(np.float32), e.astype(np.float32), k) for g, e in held), "Allgather")

    return cases


def kept_of(p, k, key=np.abs):
    """p with zeros in the place of all but the k largest."""
    c = np.zeros_like(p)
    where = np.argsort(key(p))[-k:]
    c[where] = p[where]
    return c


def sparse(case, p=lambda g, e: g + e, key=np.abs):
    """What each rank sends, as arrays of d numbers."""
    return np.stack([kept_of(p(g, e), k, key) for g, e, k in case.arguments])


def last_of_each_place(case, rank):
    """The total of somebody who adds all values at once: of several for one place only the last is left."""
    total = np.zeros_like(case.arguments[0][0])
    for mine in sparse(case):
        total[mine != 0] = mine[mine != 0]
    return total


def in_16_bits(case, rank):
    """The total of somebody whose indices have lost all but their last 16 bits on the way."""
    total = np.zeros_like(case.arguments[0][0])
    for mine in sparse(case):
        where = np.flatnonzero(mine)
        total[where % BEYOND_16_BITS] += mine[where]
    return total


def unsent(case, rank, p=lambda g, e: g + e):
    """What somebody keeps who counts p and not g + e: p without what was sent."""
    g, e, k = case.arguments[rank]
    return p(g, e) - kept_of(g + e, k)


def zeros_at(case, rank, p):
    """The same with zeros in the places of what was sent."""
    g, e, k = case.arguments[rank]
    return np.where(kept_of(g + e, k) != 0, 0, p(g, e))


def one_or_two_allgathers(if_reduced):
    """Each rank calls Allgather once or twice, and no other collective; if_reduced is the hint for a reduction."""

    def check(case, answer):
        for rank in range(case.ranks):
            made = communicated(answer, rank)
            if made not in (["Allgather"], ["Allgather"] * 2):
                seen = f"rank {rank} called {', '.join(made) or 'no collective'}."
                if not made:
                    return Finding(seen, "Nothing was sent, so each rank has its own part only: an impostor of a sum.")
                if any("reduce" in name.lower() for name in made):
                    return Finding(seen, if_reduced)
                return Finding(seen, "Allgather, once or twice, is enough: everybody needs what everybody sends.")
        return None

    return check


def whole_indices(case, answer):
    """Among what has come by Allgather the indices are no float32 numbers."""
    arrays = [array for calls in answer.came for call in calls for array in call if isinstance(array, np.ndarray)]
    words = np.frombuffer(b"".join(array.tobytes() + bytes(-array.nbytes % 4) for array in arrays), np.int32)
    indices = np.concatenate([np.argsort(np.abs(g + e))[-k:] for g, e, k in case.arguments])
    if not indices.any() or not np.isin(indices.astype(np.float32).view(np.int32), words).all():
        return None
    return Finding(
        f"index {indices.max()} has travelled as the float32 number {indices.max()}.0.",
        "Above 2^24 only even numbers are float32 numbers: 2^24 + 1 becomes 2^24, and its value comes to another "
        "place. An array seen as another type, .view(np.float32), keeps the bits of its integers.",
    )


def k_of(case):
    return case.arguments[0][2]


def size_of(case):
    return case.arguments[0][0].size


top_k_sum = Distributed(
    cases=sparse_gradients(
        (2, 14, 3), (3, 22, 6), (5, 9, 8), (1, 7, 2), (4, 30, 1), (2, 5, 5), (2, BEYOND_16_BITS + 50, 20)
    ),
    checks=[
        several_arrays(["total", "error"], np.float32),
        only_collectives,
        one_or_two_allgathers(
            "A reduction of all d numbers, most of them 0, is compressed on paper, and not on the wire; and nothing "
            "else must be agreed upon. Send what is left of the gradient, by Allgather, and add it up afterwards."
        ),
        result(
            lambda case, rank: sparse(case).sum(axis=0),
            slips=[
                (
                    lambda case, rank: sparse(case)[rank],
                    "That is what this rank sends, alone. What has come from the others must be added.",
                ),
                (lambda case, rank: sparse(case).mean(axis=0), "Asked for is the sum over ranks, not the mean."),
                (unsent, "That is the error. The order is (total, error)."),
                (
                    lambda case, rank: sparse(case, lambda g, e: g).sum(axis=0),
                    "What is chosen and sent comes from g alone: the error is never fed back.",
                ),
                (
                    lambda case, rank: sum(g + e for g, e, _ in case.arguments),
                    "That is the sum of everything: nothing was left out. Which k numbers does each rank send?",
                ),
                (
                    last_of_each_place,
                    "Two ranks have sent a number for the same place, and only one of them is in the total. With "
                    "several equal indices total[indices] += values adds one; a loop over ranks, or np.add.at, adds "
                    "all.",
                ),
                (
                    lambda case, rank: sparse(case, key=lambda p: p).sum(axis=0),
                    "The largest were taken, and not those of largest magnitude: -5 is more worth sending than 1.",
                ),
                (
                    lambda case, rank: sparse(case, key=lambda p: -np.abs(p)).sum(axis=0),
                    "The smallest were taken. At which end of an argsort are the largest?",
                ),
                (
                    lambda case, rank: kept_of(sum(g + e for g, e, _ in case.arguments), k_of(case)),
                    "Those are the k largest of the sum. Each rank chooses its own, before anything is sent.",
                ),
                (
                    lambda case, rank: np.abs(sparse(case)).sum(axis=0),
                    "The magnitudes were sent. They decide which numbers are sent; these keep their signs.",
                ),
                (
                    in_16_bits,
                    "16 bits hold numbers below 65,536: what has a larger index has come to another place.",
                ),
                (
                    lambda case, rank: sparse(case, lambda g, e: g - e).sum(axis=0),
                    "The error is taken away from the gradient. It is what is still owed.",
                ),
            ],
            otherwise="Look at one rank's contribution: are there k values, each in its own place? An index that "
            "travels as a float's bits must be seen as an integer again (.view), and not converted.",
            got=part(0),
            what="total on ",
            close=CLOSE32,
        ),
        same_on_all_ranks(part(0)),
        result(
            unsent,
            slips=[
                (lambda case, rank: np.zeros(size_of(case)), "The error is 0: what was not sent would be lost."),
                (
                    lambda case, rank: case.arguments[rank][0] + case.arguments[rank][1],
                    "That is all of g + e, also what was sent, which would be sent again.",
                ),
                *[
                    (lambda case, rank, of=of, p=p: of(case, rank, p), hint)
                    for of in (unsent, zeros_at)
                    for p, hint in (
                        (lambda g, e: g, "The old error is forgotten: what is left of g + e, and not of g?"),
                        (lambda g, e: g + 2 * e, "The old error is in it twice: g + e has it already."),
                    )
                ],
                (lambda case, rank: -unsent(case, rank), "The sign is wrong: what was not sent is still to be added."),
                *[
                    (
                        lambda case, rank, over=over: sum(case.arguments[rank][:2]) - over(sparse(case), axis=0),
                        f"The {name} of all ranks was taken away. What has this rank sent itself?",
                    )
                    for over, name in ((np.sum, "total"), (np.mean, "mean"))
                ],
                (lambda case, rank: sparse(case)[rank], "That is what was sent. Asked for is what was not."),
                (lambda case, rank: case.arguments[rank][1], "That is the error as it was before."),
            ],
            otherwise="The error is g + e without the k numbers that this rank has sent: zeros in their places.",
            got=part(1),
            what="error on ",
            close=CLOSE32,
        ),
        bytes_of_wires(
            lambda case: 8 * k_of(case),
            slips=[
                *[
                    (
                        lambda case, each=each: each * size_of(case),
                        "The dense vector was sent, zeros and all: right numbers, and nothing is saved.",
                    )
                    for each in (4, 8)
                ],
                (
                    lambda case: 12 * k_of(case),
                    "Somewhere 64 bits travel: argsort gives int64, and an array made without a dtype is float64. "
                    "(.astype(np.int32))",
                ),
                (
                    lambda case: 16 * k_of(case),
                    "Values and indices travel in 64 bits each. An array made without a dtype is float64, and so is "
                    "what np.concatenate makes of float32 and integers.",
                ),
            ],
            otherwise="Each rank sends k values and k indices, of 4 bytes each, and nothing else.",
        ),
        whole_indices,
    ],
    endings={
        "cannot be split evenly": "The second array of an Allgather takes what all ranks send: P rows.",
        "datatypes": "Both arrays of an Allgather must have the same type of element: compare their dtypes.",
        "Truncation": "The second array of an Allgather takes what all ranks send: P rows.",
        "arrays used as indices must be": "Indices that travelled as float32 are bits, and no numbers: see them as "
        "what they are, row.view(np.int32).",
    },
    hints=[
        "On paper, with the example of two ranks: what does each rank send? Two numbers. What does a rank do with two "
        "such messages, to have a total of d numbers?",
        "p = g + e; np.argsort(np.abs(p))[-k:] are the places, as int64; p[places] are the values. "
        "comm.Allgather(values, table) fills a table of P rows of k numbers.",
        "The total begins with zeros, and each rank's values are added at its indices, one rank after the other. The "
        "error is p with zeros at this rank's own places.",
    ],
)

# One bit -------------------------------------------------------------------------------------------------------------


def gradients_and_chances(*rows):
    """Cases (P, d, what); u keeps away from where rounding would decide."""

    def cases(rng):
        for P, d, what in rows:
            arguments = []
            for rank in range(P):
                g = (rng.standard_normal(d) * rng.uniform(0.5, 2)).astype(np.float32)
                if what and rank == P - 1:
                    g[:] = 0
                u = rng.uniform(0, 1, d)
                near = np.abs(u - chance(g)) < 1e-4
                u[near] = np.where(chance(g)[near] > 0.5, 0.25, 0.75)
                most = np.abs(g).argmax()  # sent exactly, for any u: not so with the probabilities of a larger scale
                u[most] = 0.999 if g[most] > 0 else 0.001
                arguments.append((g, u))
            yield Case(f"{checks.count(P, 'rank')}, d = {d}{what}", tuple(arguments))

    return cases


def chance(g, sign=lambda g: g, scale=lambda g: np.abs(g).max()):
    """The probability of +s."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num((1 + sign(g.astype(float)) / scale(g.astype(float))) / 2)


def largest(g):
    return np.abs(g).max()


def two_levels(g, u, p=chance, scale=largest, low=-1, sign=1):
    return np.where(u < p(g), sign, sign * low) * float(scale(g))


def quantised(**how):
    """Of all ranks together."""
    return lambda case, rank: sum(two_levels(g, u, **how) for g, u in case.arguments)


def own_scale(case, rank):
    """Everybody's bits with the scale of this rank."""
    mine = np.abs(case.arguments[rank][0]).max()
    return sum(np.where(u < chance(g), mine, -mine) for g, u in case.arguments)


def out_of_step(case, rank):
    """Somebody unpacks all ranks' bytes in one go, and cuts the bits into rows of d."""
    packed = np.concatenate([np.packbits(u < chance(g)) for g, u in case.arguments])
    bits = np.unpackbits(packed)[: case.ranks * size_of(case)].reshape(case.ranks, -1)
    return sum((2.0 * mine - 1) * np.abs(g).max() for mine, (g, _) in zip(bits, case.arguments))


def signs_or_packing(case, answer, rank):
    """The hint for what none of the known mistakes gives."""
    scales = [float(np.abs(g).max()) for g, _ in case.arguments]
    levels = np.array([np.dot(signs, scales) for signs in itertools.product((-1, 1), repeat=case.ranks)])
    if np.isclose(answer.results[rank][:, None], levels, rtol=0, atol=1e-4 * sum(scales)).any(axis=1).all():
        return (
            "Each number is a sum of every rank's +s or -s, as it should be, but not with the signs that u decides "
            "for. With what is u[i] compared, and does bit i still belong to number i when it has travelled?"
        )
    return (
        "Which scale has each rank, also one whose g is 0? Then work with two ranks and d = 9: which bits are packed, "
        "which come out of np.unpackbits (and how many), and does bit i still belong to number i?"
    )


def norm(g):
    return np.linalg.norm(g.astype(float))


def bits_of(case):
    return -(-size_of(case) // 8)


one_bit_sum = Distributed(
    cases=gradients_and_chances(
        (2, 16, ""),
        (3, 21, ""),
        (2, 30, ""),
        (1, 11, ""),
        (4, 40, ""),
        (3, 13, ", rank 2 has zeros"),
        (2, 1, ""),
        (2, 1503, ""),
    ),
    checks=[
        checks.arrays(lambda case, rank: (size_of(case),), np.float32),
        only_collectives,
        one_or_two_allgathers(
            "A reduction adds numbers, and what travels here are bits: reduced they would be d whole numbers again. "
            "Nor has a scale to be agreed upon, each rank has its own. Allgather brings both to all, and then they add."
        ),
        result(
            quantised(),
            slips=[
                (
                    lambda case, rank: two_levels(*case.arguments[rank]),
                    "That is this rank's own quantised gradient: what has come from the others must be added.",
                ),
                (
                    lambda case, rank: quantised()(case, rank) / case.ranks,
                    "Asked for is the sum over ranks, not the mean.",
                ),
                *[
                    (
                        quantised(p=p),
                        "The sign of g is lost: the probability is made of its magnitude, so that g and -g give the "
                        "same.",
                    )
                    for p in (lambda g: chance(g, np.abs), lambda g: np.abs(g) / max(np.abs(g).max(), 1e-30))
                ],
                (
                    quantised(p=lambda g: np.abs(g) / max(np.abs(g).sum(), 1e-30), scale=norm),
                    "That is the formula that one reads, +|g| with probability |g[i]| / sum: the sign of g[i] is not "
                    "in it, and its mean is far from g[i].",
                ),
                (
                    quantised(scale=norm, p=lambda g: chance(g, scale=norm)),
                    "The scale is the length |g| of the whole vector: that is larger than the largest magnitude, "
                    "and so is the variance, s^2 - g[i]^2: s^2 is up to d times what is needed.",
                ),
                *[
                    (
                        quantised(scale=scale),
                        "The levels have another scale than the probabilities: what is the mean then?",
                    )
                    for scale in (norm, lambda g: np.abs(g).mean())
                ],
                *[
                    (
                        quantised(**back_to_front),
                        "The bits are the wrong way round: a large positive number should nearly always become +s.",
                    )
                    for back_to_front in ({"p": lambda g: 1 - chance(g)}, {"sign": -1})
                ],
                *[
                    (
                        quantised(p=lambda g, of=of: of(g, 0), scale=scale),
                        "The bit is the sign of g, and nothing is drawn at random: the mean of that is not g. Where "
                        "is u?",
                    )
                    for of in (np.greater, np.greater_equal)
                    for scale in (largest, lambda g: np.abs(g).mean())
                ],
                (quantised(low=0), "A bit of 0 became 0. It stands for -s."),
                (
                    quantised(low=255),
                    "0 minus 1 is 255 in uint8, the type of what np.unpackbits gives: .astype(np.float32) first.",
                ),
                (
                    quantised(scale=lambda g: g.max(), p=lambda g: chance(g, scale=lambda g: g.max())),
                    "The scale is the largest number, and not the largest magnitude: a number below -s has no "
                    "probability.",
                ),
                (
                    out_of_step,
                    "From the second rank on the bits stand in the wrong places. Each rank's begin with a byte of "
                    "their own, so those that fill up its last byte must go before the next rank's are looked at.",
                ),
                (
                    own_scale,
                    "The bits are right. But every rank's stand for that rank's own scale: which row of what has come "
                    "belongs to them?",
                ),
                (
                    quantised(
                        scale=lambda g: np.abs(g).mean(), p=lambda g: chance(g, scale=lambda g: np.abs(g).mean())
                    ),
                    "With the mean magnitude as scale, (1 + g[i] / s) / 2 is above 1 for large numbers: no "
                    "probability. s must not be less than the largest magnitude.",
                ),
                (
                    quantised(p=lambda g: g.astype(float) / max(np.abs(g).max(), 1e-30)),
                    "Which p makes p s - (1 - p) s equal g[i]?",
                ),
            ],
            otherwise=signs_or_packing,
            close=CLOSE32,
        ),
        same_on_all_ranks(),
        bytes_of_wires(
            lambda case: 4 + bits_of(case),
            slips=[
                (
                    lambda case: 4 + size_of(case),
                    "A byte for each bit: an array of bool or uint8 has 8 bits for each element. np.packbits puts "
                    "eight into one byte.",
                ),
                *[
                    (
                        lambda case, each=each: each * size_of(case),
                        "The dense vector was sent, only that it has two different numbers now. Send what tells them "
                        "apart: a bit.",
                    )
                    for each in (4, 8)
                ],
                (
                    lambda case: 8 + bits_of(case),
                    "The scale travels in 8 bytes, as float64, or twice. 4 are enough.",
                ),
                (
                    lambda case: bits_of(case),
                    "No scale has travelled.",
                ),
            ],
            otherwise="4 bytes for the scale, a bit for each number, and nothing else.",
        ),
    ],
    endings={
        "cannot be split evenly": "The second array of an Allgather takes what all ranks send: P rows.",
        "datatypes": "Both arrays of an Allgather must have the same type of element: compare their dtypes.",
        "could not be broadcast": "np.unpackbits gives whole bytes' bits: eight for each, also where d is no multiple "
        "of 8. How many of them are there really?",
        "could not broadcast": "np.unpackbits gives whole bytes' bits: eight for each, also where d is no multiple of "
        "8. How many of them are there really?",
    },
    hints=[
        "First without communication: s, the probabilities (1 + g / s) / 2, and u less than these: an array of True "
        "and False. Average over many u what comes out: is it g?",
        "np.packbits turns booleans into bytes; np.unpackbits(bytes, count=d) turns them back into 0 and 1. From 0 "
        "and 1 to -s and +s is s * (2 * bit - 1).",
        "Two calls are the simplest: Allgather of the scale, an array of one float32, into P of these; and Allgather "
        "of the packed bytes into a table of P rows. Then add up row by row, each with its own scale, in float32.",
    ],
)

# Local SGD -----------------------------------------------------------------------------------------------------------


def runs(*rows):
    """Cases (P, d, steps, period)."""

    def cases(rng):
        for P, d, steps, period in rows:
            w, rate = rng.standard_normal(d), 0.25
            held = [Gradient(rng, d, steps) for _ in range(P)]
            label = f"{checks.count(P, 'rank')}, {checks.count(steps, 'step')}, period {period}"
            yield Case(label, tuple((w.copy(), gradient, steps, period, rate) for gradient in held))

    return cases


def locally(case, meet=None, factor=1.0, sign=-1, number=lambda step, period: step, mix_gradients=False):
    """The weights of all ranks [P, d]; or what somebody gets who does one thing differently."""
    w, _, steps, period, rate = case.arguments[0]
    meet = meet or (lambda step: (step + 1) % period == 0 or step + 1 == steps)
    all_w = np.stack([w] * case.ranks)
    for step in range(steps):
        gradients = [each[1](mine, number(step, period)) for each, mine in zip(case.arguments, all_w)]
        if mix_gradients:
            gradients = [np.mean(gradients, axis=0)] * case.ranks
        all_w = all_w + sign * rate * np.stack(gradients)
        if meet(step):
            all_w[:] = factor * all_w.mean(axis=0)
    return all_w


def trained(**how):
    of_the_case = ("meet", "factor", "sign")
    return lambda case, rank: locally(case, **{k: v(case) if k in of_the_case else v for k, v in how.items()})[rank]


def settings(case):
    """(steps, period)."""
    return case.arguments[0][2:4]


def averages(case):
    steps, period = settings(case)
    return ["Allreduce"] * -(-steps // period)


def calls_of_local_sgd(case, made):
    """The hint for another number of averages."""
    steps, period = settings(case)
    if not made:
        return (
            "Nothing was sent: each rank has trained a model of its own, and they only look as if they were one. The "
            "replicas must meet."
        )
    if set(made) != {"Allreduce"}:
        return "Allreduce of the weights alone does it, once for each period."
    if len(made) in (steps, 2 * steps) and period > 1:
        return (
            "It synchronises in every step, does it not? That is synchronous SGD, with all its bytes. Between two "
            "averages each rank should go its own way. (Or are `steps` counted as periods?)"
        )
    if len(made) == steps + len(averages(case)) and period > 1:
        return (
            "Are the gradients summed in every step, and the weights as well? That is two kinds of SGD at once. "
            "Between two averages of the weights each rank should go its own way."
        )
    if len(made) == steps // period and steps % period:
        return (
            "The period does not divide the steps, and after the last of them nobody has averaged: each rank would "
            "return another model."
        )
    if len(made) == 2 * len(averages(case)):
        return "Two calls for each average: what is averaged are the d weights, in one call, and nothing else."
    if len(made) < len(averages(case)):
        return f"{steps} steps are more than one period of {period}: all meet after each of them, not only in the end."
    return (
        f"{steps} steps in periods of {period} have {checks.count(len(averages(case)), 'average')}: after every "
        "period, and after the last step if one has not just been made. None is needed before the first step."
    )


local_sgd = Distributed(
    cases=runs(
        (2, 5, 5, 2),
        (3, 4, 7, 3),
        (3, 6, 3, 1),
        (1, 4, 3, 2),
        (4, 3, 2, 5),
        (2, 4, 6, 3),
        (2, 3, 0, 2),
        (2, 1500, 2, 1),
    ),
    checks=[
        checks.arrays(lambda case, rank: (size_of(case),)),
        called(averages, calls_of_local_sgd),
        result(
            lambda case, rank: locally(case)[rank],
            slips=[
                (
                    trained(factor=lambda case: case.ranks),
                    "That is the sum of the weights, not their mean: P times too long after each average.",
                ),
                (
                    trained(factor=lambda case: 1 / case.ranks),
                    "Averaged twice: the sum over the ranks is divided by P two times.",
                ),
                (trained(sign=lambda case: 1), "Uphill: a step goes against the gradient."),
                (
                    trained(sign=lambda case: -1 / case.ranks),
                    "The steps are P times too short: a rank goes by rate times its own gradient. It is the average "
                    "of the weights that divides by P.",
                ),
                (
                    trained(meet=lambda case: lambda step: step % case.arguments[0][3] == 0),
                    "The averages come at the wrong steps: the first one after step 0 already. After which steps has "
                    "a period of them been made?",
                ),
                (
                    trained(meet=lambda case: lambda step: False),
                    "Each rank returns its own weights: what comes out of the Allreduce must take their place.",
                ),
                (trained(number=lambda step, period: step % period), NUMBERED_AGAIN),
                (
                    trained(number=lambda step, period: step + 1),
                    "Steps are numbered from 0: the first gradient is that of step 0.",
                ),
                (
                    trained(mix_gradients=True),
                    "That is synchronous SGD: the gradients were averaged. Here each rank goes its own way for a "
                    "period, and the weights are averaged.",
                ),
            ],
            otherwise="Write down who has which weights after each step, for two ranks and a period of 2. At which "
            "weights does each compute its gradient, and what is averaged when?",
        ),
        same_on_all_ranks(),
        allreduces(lambda case: len(averages(case))),
    ],
    hints=[
        "Four steps in periods of 2: own step, own step, average, own step, own step, average. And five steps?",
        "After step number `step`, step + 1 steps have been made. When is that a multiple of the period, or all of "
        "them?",
        "To average: comm.Allreduce(mpi.IN_PLACE, w), then divide w by comm.size. w is the rank's own copy from the "
        "beginning.",
    ],
)

# Gossip --------------------------------------------------------------------------------------------------------------


def pairs(*rows):
    """Cases (n, partner of each rank)."""

    def cases(rng):
        for n, partners in rows:
            held = [rng.standard_normal(n) for _ in partners]
            label = f"{checks.count(len(partners), 'rank')} with partners {partners}, n = {n}"
            yield Case(label, tuple(zip(held, partners)))

    return cases


def means_of_pairs(case, answer):
    """Each rank has the mean of its own x and its partner's."""
    x = [mine for mine, _ in case.arguments]
    alone = [np.array_equal(got, mine) for got, mine in zip(answer.results, x)]
    for rank, (got, (mine, partner)) in enumerate(zip(answer.results, case.arguments)):
        want = mine if partner is None else (mine + x[partner]) / 2
        if alike(got, want, 1e-12):
            continue
        weights = sums.recipe(got, [[each] for each in x])
        found = "something else" if weights is None else sums.formula(weights).removesuffix(", in block 0")
        right = f"x[{rank}]" if partner is None else f"0.5 x[{min(rank, partner)}] + 0.5 x[{max(rank, partner)}]"
        seen = f"rank {rank} returned {found}; right is {right} (x[k] is what rank k holds)."
        if alike(got, want, CLOSE32):
            return Finding(seen, checks.DIGITS)
        if partner is None:
            return Finding(seen, "This rank has no partner in this step, and keeps what it has.")
        if alone[rank] and alone[partner]:
            return Finding(
                seen, "Both partners have returned what they had: nothing has come, or it was not put into the result."
            )
        if alone[rank] or alone[partner]:
            return Finding(
                seen,
                "One-sided: one of two partners averages and the other one keeps its own, so the mean over all ranks "
                "changes. Both must have the other's x, as it was before.",
            )
        if np.array_equal(got, x[partner]):
            return Finding(seen, "The two have exchanged their arrays. Asked for is the mean.")
        if alike(got, mine + x[partner]):
            return Finding(seen, "That is the sum of the two: not divided by 2.")
        if weights is not None and (alike(got, (mine + x[partner]) / 4) or alike(got, (mine / 2 + x[partner]) / 2)):
            return Finding(
                seen, "Averaged twice: what came was no x, or was divided already. Send x as it is, and halve once."
            )
        return Finding(
            seen,
            "Is what arrives the x of the partner as it was before the step, in an array of its own, and is the mean "
            "taken once?",
        )
    return None


def no_sum_over_all(case, answer):
    """A collective reduction has all ranks in it; here two partners average."""
    for rank, calls in enumerate(answer.calls):
        for name in calls:
            if "reduce" in name.lower():
                return Finding(
                    f"rank {rank} called comm.{name}.",
                    "That adds up the arrays of all ranks, and each waits for all others. Here two partners average, "
                    "by messages between the two (Sendrecv, or Isend with Irecv).",
                )
    return None


def same_bits_of_partners(case, answer):
    """Two partners have the same to the last bit."""
    for rank, (_, partner) in enumerate(case.arguments):
        if partner is not None and answer.results[rank].tobytes() != answer.results[partner].tobytes():
            return Finding(
                f"ranks {rank} and {partner} differ in the last bits.",
                "a + b and b + a are equal; a + (b - a) / 2 and b + (a - b) / 2 are not. Let both compute the same.",
            )
    return None


def partners_only(case, answer):
    """One message to the partner, of x, and none without."""
    for rank, (x, partner) in enumerate(case.arguments):
        to = [dest for dest, _ in answer.sent[rank]]
        if to != ([] if partner is None else [partner]):
            return Finding(
                f"rank {rank} sent {checks.count(len(to), 'message')}{' to ' * bool(to)}{', '.join(map(str, to))}.",
                "One message each way between partners is all: nobody else has to do with it.",
            )
        if to and answer.sent[rank][0][1] != x.nbytes:
            return Finding(
                f"rank {rank} sent {checks.count(answer.sent[rank][0][1], 'byte')}; x has {x.nbytes:,}.",
                "What is sent is x, as it is, and nothing else.",
            )
    return None


gossip_step = Distributed(
    cases=pairs(
        (12, [1, 0]),
        (9, [2, None, 0]),
        (10, [1, 0, 3, 2]),
        (11, [4, 2, 1, None, 0]),
        (9, [4, 5, 6, 7, 0, 1, 2, 3]),
        (8, [None]),
        (5, [None, None]),
        (1500, [1, 0]),
    ),
    checks=[
        checks.arrays(lambda case, rank: (size_of(case),)),
        no_sum_over_all,
        checks.point_to_point,
        means_of_pairs,
        partners_only,
        same_bits_of_partners,
    ],
    endings={
        "is in a send to a rank": "Both partners stand in Send, and each waits for the other to receive: with long "
        "arrays nobody comes to the next line. Both ways must be under way at once, or one partner receives first.",
        "NoneType": "None is no rank. What does a rank do that has no partner in this step?",
        "returned already": "Some ranks wait for others that have nothing to do in this step, or have returned. With "
        "whom does a rank exchange messages, and is that one's call there?",
    },
    hints=[
        "Two ranks that both send first and then receive: where do they stand when arrays are long? Which call does "
        "both at once?",
        "comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner) with other = np.empty_like(x). And who has no "
        "partner?",
        "When both have x and other, both compute (x + other) / 2, which is the same to the last bit.",
    ],
)

# Bounded staleness ---------------------------------------------------------------------------------------------------

TICK = 1e-7  # seconds: times in the log are in these
SLACK = 400  # ticks: far more than the messages take, far less than a gradient


class Work:
    """gradient(comm, w, step) of one rank: takes its time, and writes down when it began and what was in w.

    The first element of gradient number i of all workers is 2^i, and w begins with 0 there; so w[0] tells which of them
    are in it. The text of the log, "step:begin:end:those" a gradient, is what the grader sees.
    """

    def __init__(self, seconds, table, rate):
        self.seconds, self.table, self.rate, self.log = seconds, table, rate, []

    def __call__(self, comm, w, step):
        from reference import mpi  # here: collecting the exercises should not wait for it

        begin, those = mpi.wtime(comm), float(w[0]) / -self.rate
        mpi.compute(comm, self.seconds[step])
        end = mpi.wtime(comm)
        known = int(those) if 0 <= those < 2**40 and those == int(those) else -1
        self.log.append((step, round(begin / TICK) % 10**6, round(end / TICK) % 10**6, known))
        return self.table[step].copy()

    def __repr__(self):
        return " ".join(":".join(map(str, entry)) for entry in self.log)


def trainings(*rows):
    """Cases (elements more than gradients, bound, for each worker its times in units of 100 us)."""

    def cases(rng):
        for more, bound, *times in rows:
            steps, rate = len(times[0]) if times else 3, 0.125
            d = more + steps * len(times)
            tables = [rng.standard_normal((steps, d)) for _ in [0, *times]]
            for number, table in enumerate(tables[1:]):
                table[:, 0] = 2.0 ** (number * steps + np.arange(steps))
            w = np.concatenate([[0], rng.standard_normal(d - 1)])
            work = [Work([1e-4] * steps, tables[0], rate)]
            work += [Work([each * 1e-4 for each in mine], table, rate) for mine, table in zip(times, tables[1:])]
            label = f"a server and {checks.count(len(times), 'worker')}, {checks.count(steps, 'step')}, bound {bound}"
            yield Case(label, tuple((w.copy(), each, steps, bound, rate) for each in work))

    return cases


def all_gradients(case, answer):
    """The weights on every rank have each gradient in them, once."""
    w, _, steps, _, rate = case.arguments[0]
    parts = [w, *(g for _, work, *_ in case.arguments[1:] for g in work.table)]
    names = ["w", *(f"gradient {t} of worker {k}" for k in range(1, case.ranks) for t in range(steps))]
    weights = np.array([1] + [-rate] * (len(parts) - 1))
    for rank, got in enumerate(answer.results):
        right = weights @ np.stack(parts)
        if alike(got[:1], right[:1]) and alike(got[1:], right[1:]):
            continue
        if alike(got[1:], right[1:], CLOSE32):
            return Finding(f"the weights on rank {rank} are right in their first digits.", checks.DIGITS)
        found = sums.recipe(got, [[each] for each in parts])
        if found is None:
            return Finding(
                f"the weights on rank {rank} are no sum of w and gradients.",
                "Is what the server receives the gradient, in an array of its own, and is the update w - rate * g?",
            )
        found = found[:, 0]
        if found[0] == 1 and not found[1:].any():
            return Finding(
                f"rank {rank} returned w as it was in the beginning.",
                "No gradient is in it. Who updates the weights, and how do all get the server's in the end?",
            )
        missing = [name for name, each in zip(names, found) if each == 0]
        if missing:
            who, more = "the server" if rank == 0 else f"rank {rank}", ", ..." * (len(missing) > 1)
            return Finding(
                f"the weights of {who} lack {checks.count(len(missing), 'gradient')}: {missing[0]}{more}.",
                "Every gradient is used: nothing is dropped, however late it is. The bound says who waits, not whose "
                "work is thrown away."
                if rank == 0
                else "The server's weights are the result. How do they get to the workers in the end, all updates in "
                "them?",
            )
        if alike(found[1:], -weights[1:]):
            return Finding(f"on rank {rank} all gradients are added.", "Uphill: an update goes against the gradient.")
        if alike(found[1:], weights[1:] / max(case.ranks - 1, 1)) or alike(found[1:], weights[1:] / case.ranks):
            return Finding(
                f"on rank {rank} each update is {found[1] / weights[1]:.3g} times what it should be.",
                "Each gradient that arrives is an update of its own, by rate times the gradient: nothing is averaged.",
            )
        k = int(np.flatnonzero(~np.isclose(found, weights))[0])
        return Finding(
            f"on rank {rank} {names[k]} has the weight {found[k]:.3g}; right is {weights[k]:.3g}.",
            "Each gradient belongs in once, by rate.",
        )
    return None


def logs(answer):
    """For each worker its log: (step, begin, end, those)."""
    return [[tuple(map(int, entry.split(":"))) for entry in mine[1].text.split()] for mine in answer.arguments]


def workers_work(case, answer):
    """The server computes nothing; each worker computes its gradients in order."""
    steps = case.arguments[0][2]
    server, *workers = [[entry[0] for entry in log] for log in logs(answer)]
    if server:
        return Finding(
            f"rank 0 computed {checks.count(len(server), 'gradient')}.", "The server computes none: it answers workers."
        )
    for worker, order in enumerate(workers, 1):
        if order != list(range(steps)):
            return Finding(
                f"worker {worker} computed the gradients of steps {order}.",
                f"Each worker computes those of steps 0 to {steps - 1}, once each.",
            )
    return None


def clocks(case, those):
    """Of how many gradients of each worker the weights know."""
    steps = case.arguments[0][2]
    return [bin(those >> k * steps & (1 << steps) - 1).count("1") for k in range(case.ranks - 1)]


def of_earlier(case, workers, begin, clock):
    """The worker, if there is one, of whom more gradients had arrived at `begin` than weights with this clock have."""
    bound, nbytes = case.arguments[0][3], case.arguments[0][0].nbytes
    there_and_back = 2 * (ALPHA + nbytes * BETA) / TICK - 2
    for worker, (log, known) in enumerate(zip(workers, clock), 1):
        decides = max(clock) - known > bound  # the server had to wait for the next one, or has not waited
        if known < len(log) and log[known][2] + (there_and_back if decides else SLACK) <= begin:
            return worker
    return None


def fresh_and_bounded(case, answer):
    """What a worker's weights have in them: all of its own gradients so far, and of nobody's too few."""
    bound = case.arguments[0][3]
    workers = logs(answer)[1:]
    for worker, log in enumerate(workers, 1):
        for step, begin, _, those in log:
            clock = clocks(case, those)
            if those < 0 or clock[worker - 1] != step:
                return Finding(
                    f"worker {worker} computed gradient {step} at weights without its own "
                    f"{checks.count(step, 'gradient')} before.",
                    "A worker begins with the weights that the server has when its last gradient has been used: did it "
                    "receive any, into the array that it computes with? And did the server send those?",
                )
            old = answer.seconds is not None and of_earlier(case, workers, begin, clock)
            if old:
                return Finding(
                    f"worker {worker} got weights for its gradient {step} with {clock[old - 1]} of worker {old}'s "
                    "gradients in them, when more had arrived.",
                    "Those are weights of an earlier time. What the server sends are its weights as they are when it "
                    "sends, with every gradient in them that has arrived.",
                )
            if step - min(clock) > bound:
                slowest = clock.index(min(clock)) + 1
                ahead = max(each[0] - min(clocks(case, each[3])) for mine in workers for each in mine if each[3] >= 0)
                return Finding(
                    f"worker {worker} got weights for its gradient {step} with {min(clock)} of worker {slowest}'s "
                    f"gradients in them: {step - min(clock)} ahead, and the bound is {bound}.",
                    "Nobody is more than one too far ahead. Is the comparison right by one? And do the clocks count "
                    "gradients that have arrived, and not weights that were sent?"
                    if ahead == bound + 1
                    else "The fast worker has to wait. Before the server answers, it compares this worker's clock with "
                    "that of the slowest.",
                )
    return None


def too_late(answer, bound):
    """The first (worker, step, could have begun, began) that this bound does not explain, by the virtual clock."""
    workers = logs(answer)[1:]
    ends = [[end for _, _, end, _ in log] for log in workers]
    for worker, log in enumerate(workers):
        for step, begin, _, _ in log:
            own = ends[worker][step - 1] if step else 0
            allowed = max([own, *(other[step - bound - 1] for other in ends if step > bound)])
            if begin > allowed + SLACK:
                return worker + 1, step, allowed, begin
    return None


def nobody_waits_in_vain(case, answer):
    """Weights come as soon as the bound allows, by the virtual clock."""
    bound = case.arguments[0][3]
    late = answer.seconds is not None and too_late(answer, bound)
    if not late:
        return None
    worker, step, allowed, begin = late
    seen = (
        f"worker {worker} could have begun its gradient {step} at {allowed / 10:.0f} us, and got the weights at "
        f"{begin / 10:.0f} us."
    )
    as_if = next((less for less in range(bound)[::-1] if too_late(answer, less) is None), None)
    if as_if is None:
        return Finding(
            seen,
            "It waits in vain: it was not too far ahead any more. Whom has the server to look at when a gradient "
            "arrives? And does it receive from whoever comes first?",
        )
    seen += f" It is as if the bound were {as_if}, and it is {bound}."
    if as_if == bound - 1:
        return Finding(
            seen,
            "A worker may be as far ahead as the bound says: less, or less or equal? Or does the server wait for one "
            "worker's gradient, while another one's has long been there?",
        )
    return Finding(
        seen,
        "That is step by step together, or nearly. Who is a little ahead may go on, and whoever sends first is "
        "received first.",
    )


def few_collectives(case, answer):
    """At most one collective call."""
    for rank in range(case.ranks):
        made = communicated(answer, rank)
        if len(made) > 1:
            return Finding(
                f"rank {rank} made {len(made)} collective calls: {', '.join(sorted(set(made)))}.",
                "In a collective call all wait for all, and the quickest worker for the slowest, whatever the bound. "
                "Until the end there are messages between a worker and the server only, and in the end one such call "
                "is enough.",
            )
    return None


def weights_and_gradients(case, answer):
    """Messages between server and workers, each of d numbers: first all gradients, then what the end may need."""
    (w, _, steps, *_), workers = case.arguments[0], range(1, case.ranks)
    for rank, sent in enumerate(answer.sent):
        many = steps * (1 if rank else len(workers))
        most = many if communicated(answer, rank) else many + (0 if rank else len(workers))
        own = sum(many for name, many in answer.calls[rank].items() if "send" in name.lower())
        if len(sent) < many or most < own:
            return Finding(
                f"rank {rank} sent {checks.count(own, 'message')}; {most} are needed.",
                "The server sends weights, `steps` times to each worker and perhaps once more in the end. A worker "
                "sends its gradients. Nothing else needs a message.",
            )
        for to, nbytes in sent[:many]:
            if nbytes != w.nbytes or (rank and to) or to == rank:
                return Finding(
                    f"rank {rank} sent {checks.count(nbytes, 'byte')} to rank {to}; weights and gradients have "
                    f"{w.nbytes:,}.",
                    "Weights go from the server to a worker, gradients from a worker to the server, each in an array "
                    "of d numbers and nothing else. Whose gradient it is, status.source tells.",
                )
    return None


bounded_staleness = Distributed(
    cases=trainings(
        (4, 2, [1, 1, 1, 1, 1], [6, 6, 6, 6, 6]),
        (4, 2, [1, 6, 1, 6, 1], [6, 1, 6, 1, 6]),
        (4, 0, [1, 5, 1], [2, 1, 1], [1, 1, 4]),
        (4, 1, [5, 1, 1, 1], [1, 1, 5, 1], [2, 2, 2, 2]),
        (4, 9, [1, 1, 1], [8, 8, 8]),
        (4, 1, [2, 2]),
        (4, 1),
        (4, 3, [], []),
        (1500, 1, [7, 7], [10, 10]),
    ),
    checks=[
        checks.arrays(lambda case, rank: (size_of(case),)),
        few_collectives,
        workers_work,
        all_gradients,
        fresh_and_bounded,
        nobody_waits_in_vain,
        weights_and_gradients,
    ],
    endings={
        "Deadlock": "Compare what both sides do: for each time that a worker receives weights the server must send "
        "them, and for each gradient it must receive one; then both come to the end. When a gradient arrives, others "
        "than its worker may go on. Does a worker wait for weights that the server never sends, because it compares "
        "with a clock that cannot rise any more?",
        "returned already": "Does each side make as many calls as the other expects: `steps` times weights and `steps` "
        "gradients for each worker, and something in the end?",
        "min() ": "There may be no workers at all.",
    },
    hints=[
        "The worker is four lines: steps times receive weights, compute, send the gradient. What must the server know "
        "to answer it? For each worker its clock, and whether it is waiting for weights.",
        "The server repeats two things, as many times as there are gradients in all: send weights to all that wait "
        "and may go on; receive one gradient from anybody, update, raise that worker's clock, and put it among those "
        "that wait.",
        "A worker may go on if clock[worker] - min(all clocks) <= bound, and if it has not done all its steps. In the "
        "end comm.Bcast(w, root=0) on all ranks.",
    ],
    in_place=True,
)
