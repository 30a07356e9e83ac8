"""Solutions of chapter 10. Each docstring says why it works; it is shown once the exercise is solved."""

import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def memory_by_hand(parameters, P, stage, weights, gradients, optimizer):
    """Each stage divides one thing more by P, and what it does not divide stays whole on every rank. With stage 2 and
    numbers of 4 bytes that is 4 Psi + (4 + 8) Psi / 16: 280 GB and 52.5 GB, so 332.5 GB a rank. The weights alone are
    280 GB, so no rank can do with less at this stage; 20.8 GB are the 332.5 GB divided by 16 once more.

    Follow-up: how many ranks would stage 2 need to come below 300 GB, and how many to come below 280 GB?
    """
    state = optimizer / P if stage >= 1 else optimizer
    sums = gradients / P if stage >= 2 else gradients
    model = weights / P if stage >= 3 else weights
    return parameters * (model + sums + state)


def bytes_of_a_step(parameters, P, stage, K, itemsize):
    """Count in rounds of a ring, each of which sends (P - 1) / P of the model from each rank. Stages 0 and 1 do two,
    once a step: reduce-scatter and all-gather; stage 0 calls both an all-reduce of gradients, stage 1 gathers weights.
    Stage 2 has nowhere to add whole gradients up, so the reduce-scatter comes with every micro-batch: K + 1. Stage 3
    gathers for the forward and for the backward pass and scatters gradients, in every micro-batch: 3 K.

    So "stage 2 sends as much as data parallelism" holds for K = 1 only, unless one keeps whole gradients, and with them
    stage 1's memory. Follow-up: what would stage 3 send if units stayed gathered over the K micro-batches?
    """
    rounds = {0: 2, 1: 2, 2: K + 1, 3: 3 * K}[stage]
    return rounds * parameters * itemsize * (P - 1) / P


def which_stage(parameters, P, tokens, flops, bandwidth, memory, activations):
    """Both times are proportional to the number of parameters, so this number cancels when they are compared: x >= y
    says tokens / flops >= (P - 1) / P / bandwidth. With so many tokens on a rank stage 3 hides all that it sends, and
    is quicker than stages 1 and 2, which send less and wait for the gather after the step. From 1.5 x < y on stage 3 is
    the slowest. Stage 0 is never slower than the others, if it fits: it hides as much as it can.

    The number of parameters decides what fits, together with ranks, memory and activations; ten billion is no border in
    it. With 2^48 FLOP and 2^36 bytes a second on 8 ranks, x = y lies at 3584 tokens a rank. Follow-up: what changes if
    stage 1 gathers the new weights during the next forward pass?
    """
    x = 2 * parameters * tokens / flops
    y = 2 * parameters * (P - 1) / P / bandwidth
    bytes = [16, 4 + 12 / P, 2 + 14 / P, 16 / P]
    fits = [stage for stage in range(4) if parameters * bytes[stage] + activations <= memory]
    if 0 in fits or not fits:
        return 0 if fits else None
    return 3 if 3 * max(x, y) < x + max(2 * x, y) + y else fits[0]


# Level 2: fill in --------------------------------------------------------------------------------------------------


def sharded_adam(comm, weights, gradient, m, v, t, rate):
    """Adam works on each element alone, so a rank that has all of its shard (gradient, moments, weights) needs nothing
    else. The reduce-scatter brings the gradients of the shard, summed over the ranks, and the all-gather brings the
    weights of the others: together the bytes of one all-reduce, and the moments take a P-th of the memory.

    The sum is of P means over equally many samples, so it is divided by P, once. The padding has weights, gradients and
    moments of 0, and stays 0. Follow-up: which optimizers would not give the same result if they saw a shard alone?
    """
    P, N, n = comm.size, len(weights), len(m)
    padded = np.zeros((2, P * n))
    padded[:, :N] = weights, gradient
    g, after = np.empty(n), np.empty(P * n)
    comm.Reduce_scatter_block(padded[1], g)
    g = g / P
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    mine = padded[0, comm.rank * n : comm.rank * n + n]
    mine = mine - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    comm.Allgather(mine, after)
    return after[:N], m, v


# Level 3: write ----------------------------------------------------------------------------------------------------


def rows_of_rank(shapes, P, rank):
    """Blocks of ceil(rows / P) rows: simple arithmetic for everybody, and uneven. With 5 rows on 4 ranks the blocks are
    2, 2, 1, 0; a split as even as it can be would be 2, 1, 1, 1. Rank 0 has the most of every parameter, so its pieces
    tell how long all buffers are, and with P above the number of rows the padding can be most of what is gathered.

    Follow-up: how many of 8 ranks have nothing of a parameter of 9 rows? How much of what is gathered is padding?
    """
    pieces, offset, length = [], 0, 0
    for rows, *others in shapes:
        block = -(-rows // P)
        first = min(rank * block, rows)
        mine = min(block, rows - first)
        pieces.append((first, mine, offset))
        offset += mine * math.prod(others)
        length += block * math.prod(others)
    return pieces, length


def reduce_in_buckets(comm, backward, buckets):
    """One bucket at a time: its gradients become one array, the array is reduced and scattered, and everything but the
    rank's part is dropped before the next gradient is made. What is left at the end is a P-th of the gradients, and the
    peak is that and a bucket. An all-reduce would have kept all, and sent twice as much.

    The trap is Python's: a name refers to the last bucket's gradients until it is bound again, which is after the next
    gradients are there. Here every gradient is copied into the array at once, and no name outlives that. Follow-up:
    what does a larger bucket cost, and what does it save?
    """
    parts = []
    for lengths in buckets:
        n = -(-sum(lengths) // comm.size)
        flat, part, start = np.zeros(comm.size * n), np.empty(n), 0
        for length in lengths:
            flat[start : start + length] = backward(comm)
            start += length
        comm.Reduce_scatter_block(flat, part)
        parts.append(part / comm.size)
    return parts


def gather_and_free(uses):
    """Write down all uses in the order of the step: forward, then backward in reverse. With room for one unit, a gather
    is needed whenever the unit changes, and only then. So the last unit of the forward pass is gathered once, and one
    that is used only once elsewhere is gathered twice: 2 L - 1 gathers for L units in a row.

    A tied unit is reduced behind the last of its backward uses, which is its first use in the forward pass: reduced
    after each, its gradient would travel twice. Follow-up: how many gathers are there with room for two units?
    """
    steps = [("forward", unit) for unit in uses] + [("backward", unit) for unit in reversed(uses)]
    last = {unit: place for place, (_, unit) in enumerate(steps)}
    order, there = [], None
    for place, (action, unit) in enumerate(steps):
        if unit != there:
            if there is not None:
                order.append(f"free {there}")
            order.append(f"gather {unit}")
            there = unit
        order.append(f"{action} {unit}")
        if last[unit] == place:
            order.append(f"reduce {unit}")
    return [*order, f"free {there}"] if uses else []


# Level 4: repair ---------------------------------------------------------------------------------------------------


def clip_by_global_norm(comm, gradient, real, replicas, limit):
    """Squares can be added up over the ranks; norms cannot. The padding is left out before anything is squared, and
    every element of the model is counted by as many ranks as there are replicas, so the sum is divided by these. The
    factor is never above 1: clipping shortens.

    Clipped by its own norm, each rank would scale its shard by another factor, and the gradient would change its
    direction. Follow-up: a parameter that every rank has whole (a norm's weight that is not cut) stands beside the
    shards; how does it enter the sum?
    """
    clipped = np.zeros_like(gradient)
    clipped[:real] = gradient[:real]
    squares = np.array([(clipped * clipped).sum() / replicas])
    comm.Allreduce(mpi.IN_PLACE, squares)
    norm = math.sqrt(squares.item())
    if norm > limit:
        clipped *= limit / norm
    return norm, clipped


# Level 5: speed up -------------------------------------------------------------------------------------------------


def prefetch_units(comm, shards, compute, limit):
    """One gather is under way while one unit computes. If each takes t and c, L units take t + (L - 1) max(t, c) + c,
    and L (t + c) with room for one unit. Begun all at once, the gathers would share the link, so that the first unit
    comes late, and the whole model would be in memory: the limit is what bounds it.

    The order of three lines is all there is to it: wait, begin the next, compute. With the last two exchanged nothing
    overlaps, and the result is the same. Follow-up: in the backward pass a reduce-scatter is under way, too. Which of
    the two should come first?
    """

    def begin(unit):
        if unit < len(shards):
            whole = np.empty(comm.size * len(shards[unit]))
            return whole, comm.Iallgather(shards[unit], whole)

    results, coming = [], begin(0)
    for unit in range(len(shards)):
        whole, request = coming
        request.Wait()
        coming = begin(unit + 1) if limit > 1 else None
        results.append(compute(comm, unit, whole))
        coming = coming or begin(unit + 1)
    return results


def which_to_keep(gather, backward, size, room):
    """What a unit saves is what is left of its gather when unit i + 1 is done: often nothing, and then keeping it costs
    memory for no time at all. That is independent of the others, so the rest is a knapsack: the best choice in r bytes
    either leaves the next unit out, or takes it and the best choice of those before in what room is left.

    Frameworks have one switch for all units, or one for each (reshard after the forward pass, yes or no); the last unit
    is a good first candidate, because nothing hides its gather. Follow-up: which units would you keep if the network
    were twice as fast?
    """
    waits = [seconds - hidden for seconds, hidden in zip(gather, backward[1:])] + gather[-1:]
    best = [(0, [])] * (room + 1)
    for unit, (bytes, wait) in enumerate(zip(size, waits)):
        for left in range(room, bytes - 1, -1):
            saved, kept = best[left - bytes]
            best[left] = max(best[left], (saved + wait, [*kept, unit]))
    return best[room][1]


def offload_schedule(backward, down, step, up, room):
    """A line of four machines: each piece goes through all of them, and each machine takes the pieces in order. So a
    thing begins at the later of two ends: of the same piece on the machine before, and of the piece before on the same
    machine. The room on the device is a third one, for the backward pass. In a long step the slowest of the four sets
    the pace, and the others hide behind it; the paper's point is that the host's step can be hidden like this.

    A step that clips by the global norm cannot begin before the last gradient is there: then steps do not overlap the
    backward pass. Follow-up: what does room = 1 cost, and from which room on does nothing change any more?
    """
    starts, copied, free = [], [], [0] * 4
    for i, lasts in enumerate(zip(backward, down, step, up)):
        now, row = copied[i - room] if i >= room else 0, []
        for kind, last in enumerate(lasts):
            row.append(max(now, free[kind]))
            now = free[kind] = row[kind] + last
        starts.append(tuple(row))
        copied.append(free[1])
    return starts
