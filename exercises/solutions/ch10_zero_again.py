"""Second solutions of chapter 10, written differently. Graders must accept both."""

import math
from functools import cache

import numpy as np

from reference import mpi


def memory_by_hand(parameters, P, stage, weights, gradients, optimizer):
    """The stage counts, from the end of the list weights, gradients, optimizer, how many of the three are cut. Sum what
    is whole and what is cut by themselves."""
    each = [weights, gradients, optimizer]
    whole, cut = sum(each[: 3 - stage]), sum(each[3 - stage :])
    return whole * parameters + cut * parameters / P


def bytes_of_a_step(parameters, P, stage, K, itemsize):
    """Gathers and reductions counted apart: who reduces how often, who gathers how often. An all-reduce is one of
    each."""
    reductions = K if stage >= 2 else 1
    gathers = 2 * K if stage == 3 else 1
    shard = parameters * itemsize / P
    return (reductions + gathers) * (P - 1) * shard


def which_stage(parameters, P, tokens, flops, bandwidth, memory, activations):
    """Plain data parallelism hides what can be hidden and sends no more than others: it wins if it fits. Of the others
    take a later one only if it is quicker than all before."""
    x, y = 2 * parameters * tokens / flops, 2 * parameters * (P - 1) / P / bandwidth
    if 16 * parameters + activations <= memory:
        return 0
    shortest, found = float("inf"), None
    for stage, whole, seconds in (
        (1, 4, x + max(2 * x, y) + y),
        (2, 2, x + max(2 * x, y) + y),
        (3, 0, 3 * max(x, y)),
    ):
        bytes = parameters * whole + parameters // P * (16 - whole) + activations
        if bytes <= memory and seconds < shortest:
            shortest, found = seconds, stage
    return found


def sharded_adam(comm, weights, gradient, m, v, t, rate):
    """np.pad where a call needs it, and moments changed by a part of their difference from the gradient. What is
    gathered are the updates, which every rank subtracts from weights that all have."""
    P, n = comm.size, len(m)
    missing = P * n - len(weights)
    g = np.empty(n)
    comm.Reduce_scatter_block(np.pad(gradient / P, (0, missing)), g)
    m, v = m + 0.1 * (g - m), v + 0.001 * (g * g - v)
    update = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    everywhere = np.empty((P, n))
    comm.Allgather(update, everywhere)
    return weights - rate * everywhere.ravel()[: len(weights)], m, v


def rows_of_rank(shapes, P, rank):
    """All ranks' rows of a parameter as ranges: a slice of a range does not reach beyond its end, so the last block is
    shorter by itself."""
    pieces, offset, longest = [], 0, 0
    for shape in shapes:
        width = int(np.prod(shape[1:], dtype=int))
        cuts = range(0, shape[0], (shape[0] + P - 1) // P)
        rows = [range(shape[0])[cut : cut + cuts.step] for cut in cuts]
        mine = rows[rank] if rank < len(rows) else range(shape[0], shape[0])
        pieces.append((mine.start, len(mine), offset))
        offset += len(mine) * width
        longest += len(rows[0]) * width
    return pieces, longest


def reduce_in_buckets(comm, backward, buckets):
    """The bucket's gradients in a list that lives inside a helper function: when it returns, nothing refers to them."""

    def full(lengths):
        gradients = [backward(comm) for _ in lengths]
        return np.concatenate([*gradients, np.zeros(-sum(lengths) % comm.size)])

    parts = [np.empty(-(-sum(lengths) // comm.size)) for lengths in buckets]
    for lengths, part in zip(buckets, parts):
        comm.Reduce_scatter_block(full(lengths), part)
        part /= comm.size
    return parts


def gather_and_free(uses):
    """Runs of equal uses, each between a gather and a free; what is to be reduced is known from how many backward uses
    are left of each unit."""
    order, left = [], {unit: uses.count(unit) for unit in uses}
    row = [*uses, *uses[::-1]]
    for place, unit in enumerate(row):
        if place == 0 or row[place - 1] != unit:
            order.append(f"gather {unit}")
        if place < len(uses):
            order.append(f"forward {unit}")
        else:
            order.append(f"backward {unit}")
            left[unit] -= 1
            if left[unit] == 0:
                order.append(f"reduce {unit}")
        if row[place + 1 : place + 2] != [unit]:
            order.append(f"free {unit}")
    return order


def clip_by_global_norm(comm, gradient, real, replicas, limit):
    """A dot product of the real part, and the factor as one expression: limit / max(norm, limit) is 1 for what is
    short, and the limit is above 0."""
    squares = np.dot(gradient[:real], gradient[:real]).reshape(1)
    comm.Allreduce(mpi.IN_PLACE, squares)
    norm = math.sqrt(squares.item() / replicas)
    return norm, np.pad(gradient[:real] * (limit / max(norm, limit)), (0, len(gradient) - real))


def prefetch_units(comm, shards, compute, limit):
    """One pool with room for two units, used in turn, each as large as the largest: unit i is gathered into part i
    modulo two. With room for one unit there is one part."""
    ahead = min(limit, 2)
    pool = np.empty((ahead, max(map(len, shards)) * comm.size))
    arrays = [pool[unit % ahead, : comm.size * len(shard)] for unit, shard in enumerate(shards)]
    results, request = [], comm.Iallgather(shards[0], arrays[0])
    for unit, whole in enumerate(arrays):
        request.Wait()
        coming = list(zip(shards, arrays))[unit + 1 : unit + 2]
        for pair in coming * (ahead - 1):
            request = comm.Iallgather(*pair)
        results.append(compute(comm, unit, whole))
        for pair in coming * (2 - ahead):
            request = comm.Iallgather(*pair)
    return results


def which_to_keep(gather, backward, size, room):
    """All totals of bytes that can be reached, each with the choice that saves most: for every unit, all of them
    without it and all of them with it. Sorted, the best of a total comes last, and a dictionary keeps the last."""
    choices = [(0, 0, [])]
    for unit, bytes in enumerate(size):
        wait = gather[unit] - sum(backward[unit + 1 : unit + 2])
        choices += [(b + bytes, s + wait, [*kept, unit]) for b, s, kept in choices if b + bytes <= room]
        choices = list({choice[0]: choice for choice in sorted(choices)}.values())
    return max(choices, key=lambda choice: choice[1])[2]


def offload_schedule(backward, down, step, up, room):
    """The end of a thing by itself: its length behind the latest of what it waits for, of which each is asked in the
    same way. Only backward passes need room, but the later things of a piece wait for more than that anyway."""
    lasts = [backward, down, step, up]

    @cache
    def end(i, kind):
        if min(i, kind) < 0:
            return 0
        return max(end(i, kind - 1), end(i - 1, kind), end(i - room, 1)) + lasts[kind][i]

    return [[end(i, kind) - lasts[kind][i] for kind in range(4)] for i in range(len(up))]
