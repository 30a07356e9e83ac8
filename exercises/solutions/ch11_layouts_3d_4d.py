"""Solutions of chapter 11. Each docstring says why it works; it is shown once the exercise is solved."""

import itertools
import math
from collections import Counter

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def elements_sent(axis, d, t, p, parameters, B, s, h, L, recompute):
    """Each axis has its own factor for how much of the model, the batch and the layers a rank has. The data axis sends
    gradients of a t p-th of the model, once. The tensor axis sends activations, four times a layer, and the stages send
    them once. In the chapter's layouts of GPT-3 the tensor axis sends most by far, so it belongs where the network is
    quickest.

    The three are not to be added up: they use different links, and may overlap. A sum that is in print forgets
    (t - 1) / t, so it is least if all ranks are tensor ranks, for every model and batch. Follow-up: with how many
    tokens in a step do data and tensor axis send equally much?
    """
    sequences = B / d
    if axis == "data":
        return 2 * (d - 1) / d * parameters / (t * p)
    if axis == "tensor":
        allreduces = 6 if recompute else 4
        return allreduces * 2 * (t - 1) / t * sequences * s * h * L / p
    return 0 if p == 1 else 2 * sequences * s * h


def fullest_rank(h, feed_forward, L, t, p, d, sharded):
    """A layer of h = 20,480 and feed_forward = 81,920 has 12 h h = 5.03 billion parameters, and 120 of them have 0.604
    trillion: 200 trillion is 331 times as much. With 16 stages some have 8 layers, and a rank an eighth of each. That
    is 80.5 GB, just too much for 80 GB, before any activation. The 16 replicas do not help, unless they shard.

    Sharded over d it is 5 GB. A model of 200 trillion would need 3,200 TB for the same, and 2,048 accelerators of 80 GB
    have 164 TB. Follow-up: with how many stages does the unsharded layout fit?
    """
    layer = 4 * h**2 + 2 * h * feed_forward
    fullest = math.ceil(L / p)
    bytes = 16 * layer * fullest / t
    return bytes / d if sharded else bytes


def seconds_saved(speeds, units, steps, moving):
    """With equal shares the slowest rank decides: units / P, divided by its speed. With shares in proportion to the
    speeds every rank works until the end, so all of them together do sum(speeds) units a second. The move is paid once,
    the saving comes with each step that is left: late in a run no move pays.

    In print the share is base * mean / speed, which gives a rank of half the speed twice the work: with speeds 1, 1, 1
    and 1/2 a step takes 3.5 in place of 1.14, and doing nothing 2. Follow-up: what if the slow rank will be quick
    again soon?
    """
    before = units / len(speeds) / min(speeds)
    after = units / sum(speeds)
    return steps * (before - after) - moving


# Level 2: fill in --------------------------------------------------------------------------------------------------


def samples_of_rank(rank, d, p, c, t, batch, length, step):
    """A rank's number is read like a number with digits of different bases. The digit of dp is what is left of the rank
    after p c t ranks have been divided away, that of cp is read between t and c. The digits of pp and tp do not come
    in: stages and tensor ranks of a replica work on the same tokens.

    If tensor ranks read different samples, their partial sums do not belong together: nothing raises an error, and the
    loss is wrong. Follow-up: which of the four coordinates may the seed of dropout depend on?
    """
    replica = rank // (p * c * t)
    part = rank // t % c
    first = step * batch + replica * (batch // d)
    start = part * (length // c)
    sequences = list(range(first, first + batch // d))
    positions = list(range(start, start + length // c))
    return sequences, positions


# Level 3: write ----------------------------------------------------------------------------------------------------


def group_of(axes, along, rank):
    """Each axis has a stride: how much the rank grows if its coordinate grows by one, the product of the sizes inside
    it. Take the rank's own coordinates along the group's axes away, and what is left is the group's first rank; then
    add each multiple of each stride. The work is as large as the group, however large the mesh.

    A stride of 1 means neighbours, so the innermost axis fills a node. Follow-up: in which order of the axes does a
    group along dp lie in one node, and what does this cost the others?
    """
    stride, first, steps = 1, rank, []
    for name, size in reversed(axes):
        if name in along:
            first -= rank // stride % size * stride
            steps.append(range(0, size * stride, stride))
        stride *= size
    return sorted(first + sum(offsets) for offsets in itertools.product(*steps))


def global_norm(comm, t, p, gradients):
    """A sum over all ranks counts each element as often as there are copies of it: d times, and t times more if the
    tensor ranks have copies, and twice more if it is tied over two stages. Each rank divides its squares by that, and
    the sum of all ranks is that of the model. It is the same number on every rank, so all of them clip alike.

    One number travels, whatever the mesh. Follow-up: where would it go wrong if the copies were counted on rank 0
    alone, and rank 0 had no part of some parameter?
    """
    d = comm.size // (t * p)
    copies = {"cut": d, "copied": d * t, "tied": d * min(p, 2)}
    squares = np.array([sum((float(np.vdot(array, array)) / copies[kind] for kind, array in gradients), 0.0)])
    comm.Allreduce(mpi.IN_PLACE, squares)
    return math.sqrt(squares.item())


def roll_call(orders):
    """Play it: every rank stands before its next collective, and one of them happens when all its ranks stand before
    it. Its ranks go on, and perhaps meet others. It does not matter which of several possible ones happens first:
    whoever stands before a collective stays there until it happens. What is left in the end waits for ever.

    To enter groups in one order on every rank is enough for no deadlock: among the ranks that wait, one group would be
    the first in this order, and all its ranks come to it. Follow-up: is it also necessary?
    """
    place, there = [0] * len(orders), Counter()
    moving = list(range(len(orders)))
    while moving:
        rank = moving.pop()
        if place[rank] == len(orders[rank]):
            continue
        group = orders[rank][place[rank]]
        there[group] += 1
        if there[group] == len(group):
            there[group] = 0
            for member in group:
                place[member] += 1
            moving += group
    return [order[done] if done < len(order) else None for order, done in zip(orders, place)]


def plan_layout(N, per_node, layers, heads, batch, parameters, memory, work, reduce, gradients):
    """There are few layouts, even of 16,384 accelerators: t divides the node, p the layers. So try all that are allowed
    and fit, and take the quickest by the three terms. The size of the model alone decides nothing: with more
    accelerators and the same batch there are fewer micro-batches, and the pipeline's bubble grows; with less memory t p
    must grow.

    Follow-up: with 16 bytes a parameter and ZeRO's stage 1 over d, which layouts fit that did not?
    """
    best, shortest = None, math.inf
    for t in range(1, per_node + 1):
        for p in range(1, layers + 1):
            d = N // (t * p)
            if d * t * p != N or per_node % t or heads % t or layers % p or batch % d:
                continue
            if 16 * parameters / (t * p) > memory:
                continue
            micro_batch = work / (t * p) + reduce * (t - 1) / t * layers / p
            seconds = (batch // d + p - 1) * micro_batch + gradients * (d - 1) / d / (t * p)
            if seconds < shortest:
                best, shortest = (d, t, p), seconds
    return best


def new_shares(shares, speeds, most):
    """Move one unit at a time, from the rank that ends last to the one that would end first with one more. Nothing else
    can make the step shorter: only the slowest rank decides. If several ranks are the slowest, the step gets shorter
    only after all of them have given; so remember the last shares that were an improvement, and forget what came after.

    Shares in proportion to the speeds are the aim, and a limit leads there in several moves. Follow-up: measured speeds
    vary by some percent. How does a limit, and waiting between two moves, keep the shares from swinging to and fro?
    """
    new, best, ranks = list(shares), list(shares), range(len(shares))
    shortest = max(n / speed for n, speed in zip(shares, speeds))
    for _ in range(min(most, sum(shares))):
        giver = max(ranks, key=lambda r: new[r] / speeds[r])
        taker = min(ranks, key=lambda r: (new[r] + 1) / speeds[r])
        new[giver] -= 1
        new[taker] += 1
        slowest = max(n / speed for n, speed in zip(new, speeds))
        if slowest < shortest:
            best, shortest = list(new), slowest
    return best


# Level 4: repair ---------------------------------------------------------------------------------------------------


def best_layout(N, batch, memory, held, seconds):
    """Four mistakes. best_cost was read and never written, so the last layout below the first limit won. Nothing asked
    whether a layout fits. N // (t p) dropped a remainder, so layouts of fewer ranks were priced, and the batch was not
    looked at. And t went over 1, 2, 4, 8 alone, where any divisor was allowed.

    A search is right if it tries all that is allowed and compares each with the best so far; this is easily tested
    against a list of all layouts with their costs. Follow-up: which of the four would you have found by looking at the
    layout that it returns?
    """
    best, best_cost = None, math.inf
    for t in range(1, N + 1):
        for p in range(1, N // t + 1):
            d = N // (t * p)
            if d * t * p != N or batch % d or held(d, t, p) > memory:
                continue
            cost = seconds(d, t, p)
            if cost < best_cost:
                best, best_cost = (d, t, p), cost
    return best


# Level 5: speed up -------------------------------------------------------------------------------------------------


def few_evaluations(layouts, bound, seconds):
    """Simulate in the order of the bounds, and stop when the next bound is no shorter than the best time so far. Nobody
    can do with less: a layout whose bound is below the best time might be better, so it has to be simulated, and these
    are the only ones that are. What is left out is proved to be no better.

    So the better the bound, the fewer simulations; with an exact bound one is enough. Follow-up: a bound that is too
    high for some layouts makes the search quicker. What is lost?
    """
    best, shortest = None, math.inf
    for least, layout in sorted((bound(layout), layout) for layout in layouts):
        if least >= shortest:
            break
        took = seconds(layout)
        if took < shortest:
            best, shortest = layout, took
    return best
