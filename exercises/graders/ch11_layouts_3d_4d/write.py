"""Level 3 of chapter 11, write: groups of a mesh, one norm, a roll call, a plan, new shares."""

import itertools
import math
from typing import NamedTuple

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns

from ..ch06_tensor_parallel.common import Part, all_reduces, returns

# Groups of a mesh ----------------------------------------------------------------------------------------------------


def strides(axes):
    """By how much a rank grows along each axis."""
    return {name: math.prod(size for _, size in axes[place + 1 :]) for place, (name, _) in enumerate(axes)}


def grouped(axes, along, rank):
    """The ranks of a group, in ascending order."""
    stride, sizes = strides(axes), dict(axes)
    names = [name for name, _ in axes if name in along]
    first = rank - sum(rank // stride[name] % sizes[name] * stride[name] for name in names)
    return [
        first + sum(place * stride[name] for place, name in zip(places, names, strict=True))
        for places in itertools.product(*(range(sizes[name]) for name in names))
    ]


def of_rank_0(axes, along, rank):
    return grouped(axes, along, 0)


def neighbours(axes, along, rank):
    """Ranks in a row, as many as the group has."""
    n = math.prod(size for name, size in axes if name in along)
    return list(range(rank // n * n, rank // n * n + n))


def others(axes, along, rank):
    """The ranks with the same coordinates along these axes, if they are few."""
    names = [name for name, _ in axes if name not in along]
    size = math.prod(size for name, size in axes if name in names)
    return grouped(axes, names, rank) if size < 5000 else []


def turned(axes, along, rank):
    """As if the first axis was the innermost."""
    return grouped(axes[::-1], along, rank)


def as_named(axes, along, rank):
    """In the order in which `along` has its names."""
    stride, sizes = strides(axes), dict(axes)
    first = rank - sum(rank // stride[name] % sizes[name] * stride[name] for name in along)
    return [
        first + sum(place * stride[name] for place, name in zip(places, along, strict=True))
        for places in itertools.product(*(range(sizes[name]) for name in along))
    ]


def joined(axes, along, rank):
    """The groups of the single axes, put together."""
    return sorted({each for name in along for each in grouped(axes, [name], rank)})


def without_itself(axes, along, rank):
    return [each for each in grouped(axes, along, rank) if each != rank]


def beginning_at_rank(axes, along, rank):
    """As if the rank was the first one of its group."""
    return [each - grouped(axes, along, rank)[0] + rank for each in grouped(axes, along, rank)]


def inside_alone(axes, along, rank):
    """As if the rank had the number 0 along all axes outside of the group's."""
    stride, sizes = strides(axes), dict(axes)
    outermost = next(name for name, _ in axes if name in along)
    return grouped(axes, along, rank % (stride[outermost] * sizes[outermost]))


def no_ranks(case, results):
    (got,) = listed(results)
    if not isinstance(got, list) or any(type(each) is not int for each in got):
        return Finding(f"it returned {got!r:.80}.", "Return a list of ranks, whole numbers.")
    return None


def ranks_seen(case, results, right):
    (got,), (want,) = results, right
    return f"it returned {got!r:.60}; right is {want!r:.60}."


CUBE = [("dp", 2), ("pp", 3), ("tp", 4)]

group_of = Exercise(
    cases=inputs.calls(
        (CUBE, ["pp"], 18),
        (CUBE, ["dp"], 18),
        (CUBE, ["tp"], 18),
        ([("pp", 4), ("dp", 3), ("cp", 2), ("tp", 2)], ["cp", "dp"], 30),
        ([("pp", 4), ("dp", 3), ("cp", 2), ("tp", 2)], ["tp", "pp"], 30),
        ([("tp", 5), ("dp", 1), ("pp", 3)], ["dp"], 7),
        ([("tp", 5), ("dp", 1), ("pp", 3)], ["tp"], 7),
        (CUBE, ["dp", "tp", "pp"], 11),
        ([("dp", 6)], ["dp"], 4),
        lambda rng: ([("a", 3), ("b", 2), ("c", 3), ("d", 2)], ["a", "d"], int(rng.integers(36))),
        ([("dp", 128), ("pp", 16), ("tp", 8)], ["dp"], 9876),
        ([("dp", 1200), ("tp", 8)], ["dp"], 5432),
        ([("a", 8), ("b", 10**6), ("c", 10**6)], ["a"], 3_141_592_653_589),
        names="axes along rank",
    ),
    checks=[
        Returns(
            grouped,
            slips=[
                (of_rank_0, "That is the group of rank 0. A rank's own group has the rank in it."),
                (turned, "As if the first axis was the innermost one. The last axis is: its ranks are neighbours."),
                (
                    neighbours,
                    "Those are neighbours. Only along the innermost axis are the ranks of a group neighbours; along "
                    "the others they are a stride apart.",
                ),
                (
                    others,
                    "Those are the ranks with the same number along this axis. In a group along dp this number "
                    "differs, and all others are the same.",
                ),
                (
                    as_named,
                    "The right ranks in another order. Ascending, whatever the order of `along` is.",
                ),
                (
                    joined,
                    "Those are the groups along each of the axes alone. Along two axes a group has all pairs of their "
                    "numbers.",
                ),
                (
                    lambda axes, along, rank: grouped(axes, along[:1], rank),
                    "That is the group along the first of the names alone. Along two axes a group has all pairs of "
                    "their numbers.",
                ),
                (
                    inside_alone,
                    "The group begins too low: the rank's numbers along the axes outside got lost. Only those along "
                    "the group's own axes are to be 0 in its first rank.",
                ),
                (without_itself, "The rank itself is missing. It is one of its group."),
                (
                    beginning_at_rank,
                    "The group begins at the rank itself. Which number has the rank along the axis, and which rank "
                    "has number 0?",
                ),
            ],
            otherwise="By how much does a rank grow if its number along an axis grows by one? And which rank of the "
            "group has number 0 along its axes?",
            seen=ranks_seen,
            form=no_ranks,
            read=listed,
        )
    ],
    endings={
        "cpu": "A loop over all ranks of the mesh takes too long: there may be 10^12. A group is known by its first "
        "rank, its strides and its sizes.",
        "memory": "A list of all ranks of the mesh does not fit: there may be 10^12. A group is known by its first "
        "rank, its strides and its sizes.",
    },
    hints=[
        "Draw the 2 x 2 x 2 mesh, with the ranks in it. By how much do neighbours along each axis differ?",
        "The stride of an axis is the product of the sizes inside it. rank // stride % size is the rank's number along "
        "it.",
        "Take number times stride away from the rank for each axis of the group: that is the first one. Then add all "
        "sums of multiples of the strides, and sort.",
    ],
)


# One norm ------------------------------------------------------------------------------------------------------------


def meshes(*rows):
    """Cases (d, t, p, elements of each array)."""

    def cases(rng):
        for d, t, p, n in rows:
            embedding = [rng.standard_normal(n + 2) for _ in range(t)]
            stages = [model_of_stage(rng, stage, t, n) for stage in range(p)]
            ranks = []
            for rank in range(d * t * p):
                stage, part = rank // t % p, rank % t
                gradients = [(kind, arrays[part].copy()) for kind, arrays in stages[stage]]
                if stage in (0, p - 1):
                    gradients.insert(1, ("tied", embedding[part].copy()))
                ranks.append((t, p, gradients))
            sizes = f"d = {d}, t = {t}, p = {p}"
            yield Case(f"{checks.count(len(ranks), 'rank')}, {sizes}", tuple(ranks))

    return cases


def model_of_stage(rng, stage, t, n):
    """(kind, array of each tensor rank) for the parameters of a stage, but for the embedding."""
    copied = rng.standard_normal(n) * 2
    cut = [("cut", [rng.standard_normal(n + stage) for _ in range(t)]) for _ in range(2)]
    return [*cut, ("copied", [copied] * t), ("copied", [copied[:2] - stage] * t)][: 4 - stage % 2]


def counted(case, cut=1, copied=None, tied=None, data=None):
    """The sum of squares of all ranks, each kind divided by its copies, or by what somebody takes for them."""
    t, p, _ = case.arguments[0]
    over = {
        "cut": cut,
        "copied": t if copied is None else copied,
        "tied": min(p, 2) if tied is None else tied,
    }
    total = sum(float((array**2).sum()) / over[kind] for _, _, gradients in case.arguments for kind, array in gradients)
    return total / (case.ranks // (t * p) if data is None else data)


def norm(case, rank=0, **other):
    return math.sqrt(counted(case, **other))


def own(case, rank):
    """The norm of what a rank has."""
    return math.sqrt(sum(float((array**2).sum()) for _, array in case.arguments[rank][2]))


def alone(case, kind):
    """The norm without one kind."""
    arguments = tuple((t, p, [pair for pair in pairs if pair[0] != kind]) for t, p, pairs in case.arguments)
    return norm(case._replace(arguments=arguments))


EACH = (
    "The root of the sum of squares of all elements of the model, each once. How many ranks have a copy of each kind?"
)

global_norm = Distributed(
    cases=meshes((2, 2, 3, 4), (1, 3, 2, 5), (3, 1, 1, 6), (1, 2, 1, 3), (2, 3, 2, 5), (1, 1, 4, 4), (1, 2, 2, 1200)),
    checks=[
        returns(
            Part(
                "the norm",
                norm,
                [
                    (own, "That is the norm of what this rank has. What do the others have?"),
                    (
                        lambda case, rank: sum(own(case, r) for r in range(case.ranks)),
                        "Norms were added up over the ranks. It is squares that can be added, and the root comes last.",
                    ),
                    (
                        lambda case, rank: norm(case, copied=1, tied=1, data=1),
                        "Everything that some rank has is counted, copies as well. Which elements are there more than "
                        "once, along which axes?",
                    ),
                    (
                        lambda case, rank: norm(case, data=1),
                        "Each element counts once for each replica. Ranks along dp have the same gradients.",
                    ),
                    (
                        lambda case, rank: norm(case, copied=1),
                        "What is copied along tp counts once for each tensor rank. So biases and layer norms weigh "
                        "more, the more tensor ranks there are.",
                    ),
                    (
                        lambda case, rank: norm(case, tied=1),
                        "The tied embedding counts twice: the first and the last stage have the same elements of it.",
                    ),
                    (
                        lambda case, rank: norm(case, tied=2),
                        "The embedding is halved where the first stage is the last: there it is once.",
                    ),
                    (
                        lambda case, rank: norm(case, tied=case.arguments[0][1]),
                        "The embedding is divided by all stages. Two of them have it.",
                    ),
                    (
                        lambda case, rank: norm(case, copied=1, tied=1),
                        "Each replica is counted once, and yet something twice: what is copied along tp, and the "
                        "embedding on two stages.",
                    ),
                    (
                        lambda case, rank: norm(case, cut=case.arguments[0][0]),
                        "What is cut was divided by t. Each tensor rank has other elements of it, and all of them "
                        "count.",
                    ),
                    (
                        lambda case, rank: norm(case, tied=min(case.arguments[0][1], 2) * case.arguments[0][0]),
                        "The embedding was divided by t. Each tensor rank has other elements of it.",
                    ),
                    (
                        lambda case, rank: norm(case, copied=1, tied=1, data=case.ranks),
                        "The squares are averaged over the ranks. Most elements are on one rank of a replica alone.",
                    ),
                    (lambda case, rank: alone(case, "tied"), "The embedding is missing. It counts once."),
                    (lambda case, rank: alone(case, "copied"), "What is copied along tp is missing. It counts once."),
                    (lambda case, rank: counted(case), "That is the sum of squares: the root is missing."),
                ],
                EACH,
            )
        ),
        *all_reduces(1, lambda case: 1, "One number of each rank is enough: its squares, each with its weight."),
    ],
    hints=[
        "How many ranks have an element that is cut, one that is copied, one of the embedding?",
        "Either each of the copies counts a part, or one rank counts it and the others do not. Add squares, not norms.",
        "Divide the squares of what is cut by d, of what is copied by d t, of what is tied by 2 d, or by d if there is "
        "one stage. Then one Allreduce, and the root.",
    ],
)


# A roll call ---------------------------------------------------------------------------------------------------------


def played(orders, stop=None):
    """For each rank where it waits for ever; stop: after so many rounds."""
    place, rounds = [0] * len(orders), 0
    while rounds != stop:
        said = [order[at] if at < len(order) else None for order, at in zip(orders, place)]
        ready = {group for group in said if group and all(said[member] == group for member in group)}
        if not ready:
            break
        for group in ready:
            for member in group:
                place[member] += 1
        rounds += 1
    return [order[at] if at < len(order) else None for order, at in zip(orders, place)]


def by_count(orders):
    """Nobody waits if all members of a group enter it equally often; else those that enter it more often wait."""
    often = [{group: order.count(group) for group in order} for order in orders]
    return [
        next((g for g in order if any(often[m].get(g, 0) < own[g] for m in g)), None)
        for order, own in zip(orders, often)
    ]


def all_or_none(orders):
    """If somebody waits for ever, everybody waits in its first collective."""
    if not any(played(orders)):
        return [None] * len(orders)
    return [order[0] if order else None for order in orders]


def first_alone(orders):
    """Only one rank waits: the first."""
    waits = played(orders)
    first = next((r for r, group in enumerate(waits) if group), None)
    return [group if r == first else None for r, group in enumerate(waits)]


def no_roll(case, results):
    (got,) = listed(results)
    fine = isinstance(got, list) and len(got) == len(case.arguments[0][0])
    if not fine or not all(each is None or isinstance(each, list) for each in got):
        n = len(case.arguments[0][0])
        return Finding(f"it returned {short(got)}.", f"Return a list of {n}: the tuple of a group, or None.")
    return None


def waiting_seen(case, results, right):
    (got,), (want,) = results, right
    rank = next(r for r, (one, other) in enumerate(zip(got, want, strict=True)) if one != other)
    mine, its = ("gets through" if each is None else f"waits in {tuple(each)}" for each in (got[rank], want[rank]))
    return f"rank {rank} {its}; by what you returned it {mine}."


def square(n, rounds, twist=()):
    """n x n ranks: along rows, then along columns, `rounds` times; ranks in `twist` the other way round."""
    orders = []
    for rank in range(n * n):
        row = tuple(range(rank // n * n, rank // n * n + n))
        column = tuple(range(rank % n, n * n, n))
        orders.append([row, column] * rounds if rank not in twist else [column, row] * rounds)
    return orders


def shuffled(rng):
    """Six ranks that enter random groups, two of them in another order than the others."""
    groups = [tuple(sorted(int(r) for r in rng.choice(6, int(rng.integers(2, 5)), replace=False))) for _ in range(9)]
    orders = [[group for group in groups if rank in group] for rank in range(6)]
    for rank in rng.choice(6, 2, replace=False):
        orders[rank] = [orders[rank][i] for i in rng.permutation(len(orders[rank]))]
    return (orders,)


roll_call = Exercise(
    cases=inputs.calls(
        ([[(0, 1), (0, 2)], [(0, 1)], [(0, 2)]],),
        ([[(0, 1), (0, 1, 2)], [(0, 1, 2), (0, 1)], [(0, 1, 2)], [(3, 4)], []],),
        ([[(0, 1), (0, 1, 2)], [(0, 1, 2), (0, 1)], [(0, 1, 2)]],),
        ([[(0, 1), (0, 2)], [(0, 1), (1, 2)], [(0, 2), (1, 2)], []],),
        ([[(0, 1), (0, 3)], [(1, 2), (0, 1)], [(2, 3), (1, 2)], [(0, 3), (2, 3)]],),
        ([[(0, 1), (0, 1), (0, 2)], [(0, 1)], [(0, 2)]],),
        (square(2, 2),),
        (square(2, 2, twist=(3,)),),
        (square(2, 2, twist=(0, 3)),),
        ([[(0, 1), (0, 1), (0, 1, 2)], [(0, 1), (0, 1, 2), (0, 1)], [(0, 1, 2), (2, 3)], [(2, 3)]],),
        ([[(0, 3), (0, 1)], [(0, 1), (1, 2)], [(1, 2)], [(0, 3)]],),
        ([[]],),
        shuffled,
        shuffled,
        shuffled,
        (square(6, 3),),
        (square(6, 3, twist=(0, 35)),),
        names="orders",
    ),
    checks=[
        Returns(
            played,
            slips=[
                (
                    by_count,
                    "As if it mattered only how often each group is entered. Two ranks can enter the same groups "
                    "equally often, in different orders, and wait for each other.",
                ),
                (
                    all_or_none,
                    "As if all ranks stopped at their first collective when something is wrong. What comes before the "
                    "circle still happens, and some ranks get through.",
                ),
                (
                    first_alone,
                    "One rank waits in it. Those that it leaves alone in a group wait, too, and so do those behind "
                    "them.",
                ),
                (
                    lambda orders: played(orders, stop=1),
                    "The collectives that can happen at once have happened, and then it stopped. Their ranks go on, "
                    "and make others possible.",
                ),
                (
                    lambda orders: [None] * len(orders),
                    "Nobody waits in it. Play it for the first two ranks: what does each enter first?",
                ),
            ],
            otherwise="Play it: each rank stands before its next collective, and one happens if all its ranks stand "
            "before it. Where does everybody stand in the end?",
            seen=waiting_seen,
            form=no_roll,
            read=listed,
        )
    ],
    endings={
        "cpu": "It does not end: when no collective happens any more, the ranks stay where they are.",
        "IndexError": "A rank that has got to the end of its list has no next collective.",
    },
    hints=[
        "Put a finger on the first collective of each rank. Which of them can happen? Move those fingers on.",
        "Repeat that until nothing happens any more. Does it matter which of several possible collectives happens "
        "first?",
        "place[r] counts what rank r has done. A group happens if orders[m][place[m]] is this group for all its ranks "
        "m.",
    ],
)


# A plan --------------------------------------------------------------------------------------------------------------


class Machine(NamedTuple):
    """The arguments."""

    N: int
    per_node: int
    layers: int
    heads: int
    batch: int
    parameters: int
    memory: int
    work: float
    reduce: float
    gradients: float


def divides(number, *of):
    return not any(each % number for each in of)


def allowed(
    g, node=True, heads=True, layers=True, batch=True, fits=lambda g, d, t, p: 16 * g.parameters <= g.memory * t * p
):
    """All layouts that are possible and fit."""
    return [
        (g.N // t // p, t, p)
        for t in range(1, (g.per_node if node else g.N) + 1)
        if divides(t, g.N) and (divides(t, g.per_node) or not node) and (divides(t, g.heads) or not heads)
        for p in range(1, min(g.N // t, g.layers) + 1)
        if divides(p, g.N // t) and (divides(p, g.layers) or not layers)
        if not batch or divides(g.N // t // p, g.batch)
        if fits(g, g.N // t // p, t, p)
    ]


def step(g, d, t, p, bubble=True, tensor=True, data=True, replicas=True):
    """Seconds of a step, or what somebody takes for it who leaves a term out."""
    micro_batches = g.batch // d if replicas else g.batch
    micro_batch = g.work / (t * p) + tensor * g.reduce * (t - 1) / t * g.layers / p
    return (micro_batches + bubble * (p - 1)) * micro_batch + data * g.gradients * (d - 1) / d / (t * p)


def quickest(g, seconds=step, **other):
    return min(allowed(g, **other), key=lambda layout: seconds(g, *layout), default=None)


def powers(g):
    """The best of those with 1, 2, 4 or 8 tensor ranks."""
    return min((each for each in allowed(g) if each[1] in (1, 2, 4, 8)), key=lambda x: step(g, *x), default=None)


def most_tensor(g):
    """As many tensor ranks as possible, then as few stages."""
    return min(allowed(g), key=lambda layout: (-layout[1], layout[2]), default=None)


def most_data(g):
    return max(allowed(g), default=None)


UNFIT = (
    "It does not fit. A rank holds 16 bytes for each parameter of a t p-th of the model; replicas hold copies, so d "
    "divides nothing."
)


def taking(**without):
    return lambda g: quickest(g, seconds=lambda g, *layout: step(g, *layout, **without))


SLOW_PLANS = [  # each is true of the layout, whatever led to it
    (
        taking(bubble=False),
        "It would be the quickest if the pipeline was always full. With few micro-batches it is not: p - 1 more are "
        "paid.",
    ),
    (
        taking(tensor=False),
        "It would be the quickest if tensor ranks cost nothing. Their all-reduces come with every layer.",
    ),
    (
        taking(data=False),
        "It would be the quickest if the gradients were not reduced. How long does that take with so many replicas?",
    ),
    (
        taking(replicas=False),
        "It would be the quickest if each replica did the whole batch. A replica does batch / d micro-batches.",
    ),
    (powers, "It is the quickest with 1, 2, 4 or 8 tensor ranks. Any other divisor of a node may be better."),
    (most_tensor, "It has as many tensor ranks as are possible. Their all-reduces may cost more than a bubble does."),
    (most_data, "It has as many replicas as fit. They have the most gradients to reduce, and few micro-batches each."),
]


def planned(case, answer):
    """The layout: of the right form, possible, fits, the quickest."""
    g, (got,) = Machine(*case.arguments[0]), listed(answer.results)
    want = quickest(g)
    if got is None and want is None:
        return None
    if got is None or want is None:
        which = f"{want} is possible and fits" if want else "no layout is possible and fits"
        what = "Is what fits to the last byte counted? Are all divisors tried?" if want else why_not(g, got)
        return Finding(f"it returned {got!r:.40}, and {which}.", what)
    if not isinstance(got, list) or len(got) != 3 or not all(type(each) is int and each > 0 for each in got):
        return Finding(f"it returned {got!r:.60}.", "Return (d, t, p), three whole numbers, or None.")
    layout = tuple(got)
    if layout not in allowed(g):
        return Finding(f"{layout} is not possible, or does not fit.", why_not(g, layout))
    took, least = step(g, *layout), step(g, *want)
    if took <= least * (1 + 1e-9):
        return None
    hints = (hint for slip, hint in SLOW_PLANS if slip(g) == layout)
    return Finding(
        f"{layout} takes {took:.4g} s; {want} takes {least:.4g}.",
        next(
            hints, "Write the three terms of both layouts down: computing, all-reduces, gradients. Which one differs?"
        ),
    )


def why_not(g, got):
    """Why a layout is none."""
    if not isinstance(got, list | tuple) or len(got) != 3 or math.prod(got) != g.N:
        return f"d t p has to be {g.N}."
    d, t, p = got
    rules = [
        (divides(t, g.per_node), "The tensor group is larger than a node, or does not divide it."),
        (divides(t, g.heads), "So many tensor ranks do not divide the heads."),
        (divides(p, g.layers), "So many stages do not divide the layers."),
        (divides(d, g.batch), "So many replicas do not divide the batch."),
    ]
    return next((hint for fine, hint in rules if not fine), UNFIT)


def some_machine(rng):
    """64 accelerators and a model of some billions."""
    size = int(rng.integers(1, 40)) * 10**9
    batch = int(rng.choice([16, 32, 64, 96, 128]))
    costs = (float(each) for each in rng.uniform((0.5, 0.001, 0.5), (4, 0.03, 20)))
    return 64, 8, int(rng.choice([24, 32, 48])), 32, batch, size, 80 * 10**9, *costs


plan_layout = Exercise(
    cases=inputs.calls(
        (64, 8, 48, 32, 32, 20 * 10**9, 80 * 10**9, 2.0, 0.02, 4.0),
        (64, 8, 32, 32, 64, 10 * 10**9, 80 * 10**9, 2.0, 0.004, 8.0),
        (64, 8, 48, 32, 64, 30 * 10**9, 80 * 10**9, 6.0, 0.02, 1.0),
        (64, 8, 32, 32, 512, 2 * 10**9, 80 * 10**9, 0.4, 0.01, 0.1),
        (64, 8, 32, 32, 16, 7 * 10**9, 80 * 10**9, 4.0, 0.001, 30.0),
        (96, 6, 48, 48, 96, 30 * 10**9, 80 * 10**9, 6.0, 0.002, 5.0),
        (96, 12, 36, 20, 48, 20 * 10**9, 80 * 10**9, 6.0, 0.001, 50.0),
        (64, 8, 20, 32, 64, 20 * 10**9, 80 * 10**9, 6.0, 0.03, 5.0),
        (64, 8, 32, 32, 48, 3 * 10**9, 80 * 10**9, 6.0, 0.02, 0.1),
        (64, 8, 32, 32, 64, 10 * 10**9, 40 * 10**9, 2.0, 0.02, 0.1),
        (16, 8, 32, 32, 16, 10**12, 80 * 10**9, 2.0, 0.02, 0.1),
        (7, 8, 32, 32, 5, 10**9, 80 * 10**9, 2.0, 0.02, 0.1),
        (2, 2, 2, 2, 2, 10**9, 80 * 10**9, 1.0, 10.0, 0.8),
        (8, 8, 8, 8, 8, 104 * 10**8, 80 * 10**9, 1.0, 0.01, 0.1),
        (1, 1, 12, 12, 5, 10**9, 80 * 10**9, 2.0, 0.02, 0.1),
        *[some_machine] * 6,
        (16384, 8, 128, 128, 2048, 405 * 10**9, 80 * 10**9, 60.0, 0.02, 30.0),
        names="N per_node layers heads batch parameters memory work reduce gradients",
    ),
    checks=[planned],
    endings={
        "cpu": "Of N = 16,384 few layouts are left if only divisors are tried: t of a node, p of the layers.",
        "ZeroDivisionError": "A number of ranks is at least 1.",
    },
    hints=[
        "Which (t, p) are allowed on 8 accelerators with 4 in a node, and 6 layers? Then d follows.",
        "Two tests (allowed, fits) and one price. Which micro-batches has a replica, and how long does one take a "
        "stage?",
        "(batch / d + p - 1) (work / (t p) + reduce (t - 1) / t layers / p) + gradients (d - 1) / d / (t p)",
    ],
)


# New shares ----------------------------------------------------------------------------------------------------------


def slowest(shares, speeds):
    """Seconds of a step."""
    return max(n / speed for n, speed in zip(shares, speeds, strict=True))


def reached(shares, speeds, most):
    """The best shares that can be reached, by moving a unit at a time."""
    new, best, ranks = list(shares), list(shares), range(len(shares))
    for _ in range(most):
        giver = max(ranks, key=lambda r: new[r] / speeds[r])
        taker = min(ranks, key=lambda r: (new[r] + 1) / speeds[r])
        if (new[taker] + 1) / speeds[taker] >= new[giver] / speeds[giver]:
            break
        new[giver] -= 1
        new[taker] += 1
        best = list(new) if slowest(new, speeds) < slowest(best, speeds) else best
    return best


def moved(shares, new):
    return sum(max(0, after - before) for before, after in zip(shares, new, strict=True))


def toward_inverse(got, shares, speeds):
    """Whether the slowest rank has got more, although it has as much as others."""
    rank = max(range(len(shares)), key=lambda r: shares[r] / speeds[r])
    return got[rank] > shares[rank]


def shared(case, answer):
    """Whole numbers that add up, within the limit; the shortest step, and no move for nothing."""
    (shares, speeds, most), (got,) = case.arguments[0], listed(answer.results)
    if not isinstance(got, list) or len(got) != len(shares):
        return Finding(f"it returned {short(got)}.", f"Return a list of {len(shares)} whole numbers.")
    if strange := [n for n in got if type(n) is not int]:
        return Finding(f"there is {strange[0]!r} in it.", "Units are whole: a share of a half cannot be moved.")
    if min(got) < 0:
        return Finding(f"a rank has {min(got)} units.", "Nobody can give more than it has.")
    want = reached(shares, speeds, most)
    if toward_inverse(got, shares, speeds):
        return Finding(
            "the rank that ended last has more units than before.",
            "The slowest rank got more work. A share of mean / speed is the wrong way round: which share does a rank "
            "need that is half as quick?",
        )
    if sum(got) != sum(shares):
        return Finding(
            f"all shares together are {sum(got):,}; they were {sum(shares):,}.",
            "Work was lost or made. Shares that are rounded one by one do not add up.",
        )
    seen = f"{checks.count(moved(shares, got), 'unit')} moved, and a step takes {slowest(got, speeds):.6g} s; "
    best = f"with {checks.count(moved(shares, want), 'unit')} it takes {slowest(want, speeds):.6g}."
    if moved(shares, got) > most:
        return Finding(f"{checks.count(moved(shares, got), 'unit')} moved; {most:,} may.", OVER)
    if slowest(got, speeds) > slowest(want, speeds) * (1 + 1e-12):
        return Finding(seen + best, UNMOVED if got == shares else SLOWER)
    if moved(shares, got) > moved(shares, want):
        return Finding(seen + best, IDLE)
    return None


OVER = "So many units may change their rank in one move, those of all ranks together."
UNMOVED = "Nothing moves. Which rank ends last, and which would end first with one unit more?"
SLOWER = (
    "A shorter step can be reached. Only the slowest rank decides: does each unit that moves come from it, and go "
    "where it ends first?"
)
IDLE = (
    "Some units move for nothing: the step is as short without them. It may be that a move helps only together with "
    "others that the limit forbids."
)


def some_shares(rng):
    """Five to nine ranks with some units each."""
    P = int(rng.integers(5, 10))
    shares = [int(n) for n in rng.integers(0, 30, P)]
    return shares, [int(speed) for speed in rng.integers(1, 7, P)], int(rng.integers(0, 40))


def many(rng):
    """1,100 equal shares, some ranks slow."""
    speeds = [10] * 1100
    for rank in rng.choice(1100, 5, replace=False):
        speeds[int(rank)] = 7
    return [20] * 1100, speeds, 25


TOO_MANY = "There are too many shares to try all of them. Which rank has to give for the step to get shorter at all?"

new_shares = Exercise(
    cases=inputs.calls(
        ([10, 10, 10, 10], [2, 2, 1, 2], 40),
        ([4, 4, 4], [1, 2, 2], 12),
        ([10, 10, 10, 10], [2, 2, 1, 2], 2),
        ([4, 4, 4], [1, 2, 2], 1),
        ([6, 6, 6, 6], [2, 2, 4, 4], 1),
        ([6, 6, 6, 6], [1, 1, 2, 2], 3),
        ([5, 5, 5], [3, 3, 3], 5),
        ([20, 0, 0], [1, 3, 2], 7),
        ([9], [4], 3),
        ([7, 8], [1, 9], 0),
        ([1, 1, 1, 1], [1, 1, 1, 5], 4),
        ([2, 3], [2, 3], 2),
        ([0, 0], [2, 3], 2),
        *[some_shares] * 8,
        many,
        names="shares speeds most",
    ),
    checks=[shared],
    endings={
        "cpu": TOO_MANY,
        "memory": TOO_MANY,
    },
    hints=[
        "Take shares 4, 4, 4 with speeds 1, 2, 2, and move one unit. From whom does it have to come? Who takes it "
        "best?",
        "From the rank that ends last, to the one that would end first with one unit more. Repeat.",
        "If two ranks are equally slow, the first unit does not help yet. Keep the shares of the last improvement, and "
        "return those.",
    ],
)
