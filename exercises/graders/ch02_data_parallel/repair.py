"""Level 4 of chapter 2, repair: replicas that drift apart, and sums that mix."""

import itertools

import numpy as np

from exercises.grading import Case, Distributed, Finding, checks

from .common import Wanted, no_more_than, only_collectives, two_arrays, weighted_sums


def trainings(*rows):
    """Cases (ranks, weights, samples of a rank in a step, steps, limit)."""

    def cases(rng):
        for P, d, n, steps, limit in rows:
            held = []
            for rank in range(P):
                mine = [(rng.standard_normal((n, d)) + rank, rng.standard_normal(n)) for _ in range(steps)]
                held.append((rng.standard_normal(d), rng.standard_normal(d), mine, 0.25, limit))
            label = f"{checks.count(P, 'rank')}, {checks.count(steps, 'step')}, limit {limit:g}"
            yield Case(label, tuple(held))

    return cases


LENGTHS = {  # which length decides whether the gradient is too long: of (each rank's gradient, the mean of all)
    "mean": lambda own, mean: [np.linalg.norm(mean)] * len(own),
    "own": lambda own, mean: list(map(np.linalg.norm, own)),
    "sum": lambda own, mean: [len(own) * np.linalg.norm(mean)] * len(own),
    "mean of own": lambda own, mean: [np.mean(list(map(np.linalg.norm, own)))] * len(own),
    "longest": lambda own, mean: [max(map(np.linalg.norm, own))] * len(own),
    "never": lambda own, mean: [0] * len(own),
}
STARTS = {  # the centre that each rank begins with
    "root": lambda centres: [centres[0]] * len(centres),
    "own": lambda centres: centres,
    "mean": lambda centres: [np.mean(centres, axis=0)] * len(centres),
}
MOVES = {  # to where each rank's centre moves
    "all": lambda means: [np.mean(means, axis=0)] * len(means),
    "own": lambda means: means,
    "late": lambda means: means,  # and all take the mean of the centres after the last step
    "sum": lambda means: [np.sum(means, axis=0)] * len(means),
}
WRONG = {  # the hint for each that is not the first of its table, which is right
    ("start", "own"): "The ranks begin with different centres, and nothing ever makes them equal. What did a rank get "
    "of rank 0's model, and what not? A model has more than its weights: buffers have no gradient, and belong to it.",
    ("start", "mean"): "That is what comes out if the ranks' centres are averaged at the start. The single process "
    "begins with rank 0's.",
    ("move", "own"): "The centres part in each step: every rank moves its own towards the mean of its own samples. The "
    "single process has the samples of all: which mean does it move to?",
    ("move", "late"): "The ranks agree on the centre, in the end. Until then each has computed with one of its own: "
    "so the gradients that were averaged are those of different models.",
    ("move", "sum"): "The centre moves towards the sum of the ranks' means. Their mean is wanted.",
    ("length", "own"): "Every rank has the mean gradient, and each shortens it by another factor: that of the gradient "
    "of its own samples. Which gradient is it that must not be too long?",
    ("length", "sum"): "The length is that of the sum over the ranks. Too long or not is said of the gradient of the "
    "mean loss: when is it that?",
    ("length", "mean of own"): "Averaging the lengths makes all ranks shorten alike. But the length of a mean is not "
    "the mean of the lengths: gradients that point in different directions cancel.",
    ("length", "longest"): "All ranks shorten alike now, by the longest gradient of a rank. The single process knows "
    "no ranks: which gradient has it got?",
    ("length", "never"): "The gradient is not shortened, however long it is. What is `limit` for?",
    ("length", "before"): "All ranks agree, but on something else: each shortens its own gradient before the mean is "
    "taken. The single process shortens the mean.",
    ("length", "undivided"): "The ranks' gradients are added up and not divided. Where the gradient is shortened "
    "anyway it does not show: there only its direction counts.",
    ("weights", "own"): "The ranks begin with different weights: the broadcast of rank 0's is missing.",
    ("weights", "mean"): "That is what comes out if the ranks' weights are averaged at the start. The single process "
    "begins with those of rank 0.",
}


def trained(case, start="root", move="all", length="mean", weights="root"):
    """(weights, centre) of every rank, with these mistakes; the first of each table makes none."""
    _, _, _, rate, limit = case.arguments[0]
    w = [drawn.copy() for drawn in STARTS[weights]([mine[0] for mine in case.arguments])]
    c = [centre.copy() for centre in STARTS[start]([mine[1] for mine in case.arguments])]
    for batches in zip(*(mine[2] for mine in case.arguments)):
        to, own = MOVES[move]([x.mean(axis=0) for x, _ in batches]), []
        for rank, (x, y) in enumerate(batches):
            c[rank] += 0.1 * (to[rank] - c[rank])
            z = x - c[rank]
            own.append(z.T @ (z @ w[rank] - y) / len(y))
        if length == "before":
            own = [g * min(1, limit / np.linalg.norm(g)) for g in own]
        mean = np.sum(own, axis=0) if length == "undivided" else np.mean(own, axis=0)
        lengths = [0] * len(own) if length == "before" else LENGTHS.get(length, LENGTHS["mean"])(own, mean)
        for rank, long in enumerate(lengths):
            w[rank] -= rate * mean * (limit / long if long > limit else 1)
    return list(zip(w, [np.mean(c, axis=0)] * len(c) if move == "late" else c))


def mistakes_together():
    """What may have been done, few mistakes first: those of the code as given, and one of somebody's own with them."""
    tables = {"weights": STARTS, "start": STARTS, "move": MOVES, "length": (*LENGTHS, "before", "undivided")}
    given = {("start", "own"), ("move", "own"), ("length", "own")}
    made = [dict(zip(tables, one)) for one in itertools.product(*tables.values())]
    wrong = [[each for each in one.items() if each in WRONG] for one in made]
    both = {("start", "mean"), ("weights", "mean")}
    few = [(len(w), number) for number, w in enumerate(wrong) if len(set(w) - given) <= 1 or set(w) == both]
    return [made[number] for _, number in sorted(few)]


def alike(got, want, close=1e-9):
    return all(
        np.allclose(g, w, rtol=close, atol=close / 1e3) for mine, other in zip(got, want) for g, w in zip(mine, other)
    )


def no_more_broadcasts(case, answer):
    """Weights and centre are broadcast before the first step only."""
    for rank, calls in enumerate(answer.calls):
        if calls["Bcast"] > 2:
            return Finding(
                f"rank {rank} called Bcast {checks.count(calls['Bcast'], 'time')}.",
                "Once the training has begun, a broadcast hides that the replicas differ: all take over what rank 0 "
                "has, which is as wrong as what they had. Replicas that begin alike and do alike stay alike.",
            )
    return None


def as_one_process(case, answer):
    """All ranks have what a single process has."""
    want, got = trained(case), answer.results
    if alike(got, want):
        return None
    if alike([mine[::-1] for mine in got], want):
        return Finding(how_different(got, want), "The right arrays, the wrong way round: return (weights, centre).")
    for made in mistakes_together():
        if alike(got, trained(case, **made)):
            return Finding(how_different(got, want), next(WRONG[each] for each in made.items() if each in WRONG))
    if alike(got, want, checks.FEW_DIGITS):
        return Finding(how_different(got, want), checks.DIGITS)
    seen = how_different(got, want)
    if not seen.endswith("differ."):
        return Finding(
            seen,
            "Follow the first step of a single process that has all samples: where does the centre move, what is the "
            "gradient, how long is it, and what becomes of it? Which of these does your code compute otherwise?",
        )
    return Finding(
        seen,
        "Print centre, gradient and length on each rank in the first step. Which of them must be the same on all "
        "ranks, and from which line on are they not?",
    )


def how_different(got, want):
    """The facts: do the ranks differ, or do all have something else than the single process?"""
    for place, name in enumerate(("weights", "centre")):
        first, *others = [mine[place] for mine in got]
        for rank, other in enumerate(others, 1):
            if not np.allclose(first, other, rtol=1e-9, atol=1e-12):
                return f"{name}[0] is {first[0]:.6g} on rank 0 and {other[0]:.6g} on rank {rank}: the replicas differ."
    place = 0 if not alike([got[0][:1]], [want[0][:1]]) else 1
    name = ("weights", "centre")[place]
    seen = f"{name}[0] is {got[0][place][0]:.9g}, and {want[0][place][0]:.9g} in a single process."
    return f"the ranks agree: {seen}" if len(got) > 1 else seen


replicas_that_agree = Distributed(
    cases=trainings(
        (2, 3, 40, 1, 0.5),
        (3, 4, 40, 3, 1.0),
        (3, 2, 50, 4, 4.0),
        (1, 3, 40, 2, 0.5),
        (4, 2, 60, 2, 1e9),
        (2, 30, 60, 2, 1.0),
    ),
    checks=[
        two_arrays(lambda case: case.arguments[0][0].size, "weights, centre", "Both have as many elements as before."),
        only_collectives,
        no_more_broadcasts,
        as_one_process,
        no_more_than(
            lambda case: 2 * case.arguments[0][0].size * (len(case.arguments[0][2]) + 1),
            "two sums of d numbers a step, and what is given at the start,",
            "Are samples sent, or weights, or the same thing many times, or what nobody needs? A mean over all samples "
            "is made of the ranks' means: d numbers.",
        ),
    ],
    endings={
        "CollectiveMismatch": "All ranks must make the same calls in the same order. A broadcast, too, is a call of "
        "all: of the root, which gives, and of the others, which get.",
    },
    hints=[
        "Ask of each line: what goes in, is it the same on every rank, and must it be? weights are, after the "
        "broadcast. Is centre? Is length?",
        "What is computed from a rank's own samples differs between ranks until it has been averaged. Three such "
        "things, or their traces, are left: one before the loop and two in it.",
        "Before the loop: what a replica begins with. In the loop: the mean to which the centre moves; and the length, "
        "which is measured before the gradient is that of all.",
    ],
    in_place=True,
)


def models(*rows):
    """Cases (sizes, for each rank the names that it has, in its order)."""

    def cases(rng):
        for sizes, orders in rows:
            held = [{name: rng.standard_normal(sizes[name]) for name in order} for order in orders]
            ready = "; ".join(" ".join(order) or "nothing" for order in orders)
            yield Case(f"{checks.count(len(orders), 'rank')}, ready: {ready}", tuple((mine, sizes) for mine in held))

    return cases


def all_names(case, answer):
    """Every rank returns a dictionary with an array for each name."""
    sizes = case.arguments[0][1]
    for rank, got in enumerate(answer.results):
        if not isinstance(got, dict):
            what = "None" if got is None else f"a {type(got).__name__}"
            return Finding(f"rank {rank} returned {what}.", "Return a dictionary from name to sum.")
        missing = [name for name in sizes if name not in got]
        if missing:
            return Finding(
                f"rank {rank} returned no sum for {', '.join(missing)}.",
                "All the names of sizes belong in it, also those that this rank has no gradient for: the others may "
                "have one, and all update the same weights.",
            )
        for name, size in sizes.items():
            if getattr(got[name], "shape", None) != (size,) or got[name].dtype != np.float64:
                return Finding(
                    f"{name} on rank {rank} is no float64 array of {size} elements.",
                    "Each sum is as long as its gradient, and float64 as that is.",
                )
    return None


def of_each_name(case, answer):
    """Each sum, made of the gradients of its name; others of that length are there to be recognised."""
    sizes = case.arguments[0][1]
    for rank, result in enumerate(answer.results):
        for name, size in sizes.items():
            parts = {
                f"{other}{k}": mine.get(other, np.zeros(size))
                for other in sizes
                if sizes[other] == size
                for k, (mine, _) in enumerate(case.arguments)
            }
            right = np.array([float(part[: len(name)] == name) for part in parts])
            yield Wanted(f"{name} on rank {rank}", rank, case, result[name], parts, right)


def other_weights(each, found):
    """The hint for a sum with other weights: tensors that are mixed, or gradients that do not count once."""
    if not found[each.weights == 0].any():
        return (
            "The right tensors are added, and not each of them once. What was in the array before the Allreduce, and "
            "what was added to it afterwards, or summed a second time?"
        )
    return (
        "The first call of one rank meets the first call of the others, whatever each means by it: MPI knows no names. "
        "In which order must the ranks come to the tensors?"
    )


same_order = Distributed(
    cases=models(
        ({"a": 12, "b": 12}, ["ab", "ba"]),
        ({"a": 10, "b": 13}, ["ab", "a"]),
        ({"a": 9, "b": 14, "c": 9}, ["cba", "bca", "acb"]),
        ({"b": 10, "a": 11, "c": 12}, ["cb", "abc"]),
        ({"a": 13, "b": 13}, ["", "b", "ba"]),
        ({"a": 5, "b": 6}, ["b"]),
        ({"a": 7, "b": 7}, ["ab", "ab", "ba", "ba"]),
        ({"a": 3000, "b": 3000, "c": 5}, ["ab", "ba"]),  # nobody has used c
    ),
    checks=[
        all_names,
        only_collectives,
        weighted_sums(
            of_each_name,
            "a0 is the gradient of a on rank 0",
            slips=[
                (
                    lambda each: each.weights * (np.arange(len(each.parts)) % each.case.ranks == each.rank),
                    "That is this rank's own gradient. Which call adds those of the others?",
                ),
                (lambda each: each.weights / each.case.ranks, "Asked for is the sum over ranks, not the mean."),
            ],
            otherwise=other_weights,
            nothing="This is no sum of what the ranks have. Is the array new, and does it begin with the gradient, or "
            "with zeros?",
        ),
        no_more_than(
            lambda case: sum(case.arguments[0][1].values()),
            "the sums",
            "An Allreduce of each tensor is enough. Does every rank get what each of the others has, or does something "
            "travel beside the gradients? Who has what is not for the others to know.",
        ),
    ],
    endings={
        "CollectiveMismatch": "At the same call the ranks sum arrays of different lengths: one means this tensor, and "
        "another one that, or has nothing to give. What do all know in the same order, and what stands for a gradient "
        "of 0?",
        "returned already": "Some ranks make more calls than others, and wait for them. A rank without a gradient for "
        "a tensor has to take part as well: with what?",
        "KeyError": "A tensor that this rank did not use has no entry. What is its gradient?",
    },
    hints=[
        "Two ranks, tensors a and b of the same length. Rank 0 comes to a first, rank 1 to b. What is added to what?",
        "MPI matches the collective calls of a communicator by their order alone. So the order must be made from "
        "something that is the same on all ranks: is there such a thing among the arguments?",
        "Go through the names of sizes. Where this rank has no gradient, it contributes zeros of the right length, so "
        "that every rank makes as many calls.",
    ],
)
