"""The same exercises solved in another way: graders must accept both."""

import bisect
import itertools
import math
import re

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bubble_share(schedule, p, m, v):
    """Counted out: the seconds of work of a rank, and those of the whole step, with a forward pass of one second. Of
    several stages on a rank each pass takes a v-th, and so does each of the p - 1 passes that the last rank waits
    for, and each of the p - 1 backward passes that the first rank waits for in the end.
    """
    forward, backward = 1.0, 2.0
    work = m * (forward + backward)
    makespan = p * work if schedule == "naive" else work + (p - 1) * (forward + backward) / v
    return 1 - work / makespan


def least_micro_batches(p, percent):
    """Tried out, one after the other, with whole numbers: idle passes times 100 against percent times all passes. For
    thousands of ranks the formula is quicker, but nothing here can be off by one.
    """
    return next(m for m in itertools.count(1) if 100 * (p - 1) <= percent * (m + p - 1))


def activations_kept(schedule, p, m, batch):
    """From the end of the pipeline backwards: the last rank has one micro-batch in hand, every rank before it one more
    than its neighbour, until all m are. GPipe does all of them forward first: all that the stage has of the batch.
    """
    share = batch / p
    if schedule == "GPipe":
        return [share] * p
    kept = [share / m * min(number, m) for number in range(1, p + 1)]
    return kept[::-1]


def which_schedule():
    """Three questions to each: bubble, memory, and what it costs. GPipe: (p - 1) (F + B), m. 1F1B: the same, p.
    Interleaved: a v-th of it, more than p, v times the messages and links around. ZB-H1: (p - 1) (F + I - W), p, free.
    PipeDream: no bubble, p, old weights in as many versions. What fits none of the five rows is "none".
    """
    names = ["GPipe", "1F1B", "none", "none", "interleaved", "ZB-H1", "PipeDream", "PipeDream", "none", "interleaved"]
    return dict(zip("ABCDEFGHIJK", [*names, "none"]))


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    """Step by step. In each of the 2 (P - 1) steps of a ring a rank sends a P-th of what is summed; in each of m
    micro-batches a stage sends its activations on and its gradient back. The bubble is the time of P - 1 micro-batches.
    """
    micro_batch = batch // m * s * h * 2
    pp = sum(micro_batch + micro_batch for _ in range(m))
    tp = layers * 4 * (2 * P - 2) * batch * s * h * 2 / P
    waiting_for_sums, bubble = tp / bandwidth, (P - 1) * seconds / P / m
    return tp, pp, min([(waiting_for_sums, "TP"), (bubble, "PP")])[1]


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stage_order(p, m, stage, fits):
    """By what is in hand: go forward as long as there are micro-batches left, fewer than p - stage in hand, and room
    for another one; and backward otherwise. That is the rule of 1F1B in one sentence; the three phases follow from it.
    """
    order, forward, backward = [], 0, 0
    while backward < m:
        if forward < m and forward - backward < min(p - stage, fits):
            order.append(f"F{forward}")
            forward += 1
        else:
            order.append(f"B{backward}")
            backward += 1
    return order


def when_it_ends(orders, seconds, send):
    """Asked from the end: when an action ends is its own seconds after the later of two ends, that of the action before
    it on its rank and that of what it needs, each asked in the same way. What has been asked once is remembered.
    """
    known = {}

    def end(r, k):
        if k < 0:
            return 0.0
        if (r, k) not in known:
            action = orders[r][k]
            other = r - 1 if action[0] == "F" else r + 1
            start = end(r, k - 1)
            if 0 <= other < len(orders):
                start = max(start, end(other, orders[other].index(action)) + send)
            known[r, k] = start, start + seconds[action[0]]
        return known[r, k][1]

    for r, order in enumerate(orders):
        for k in range(len(order)):
            end(r, k)
    return [[known[r, k] for k in range(len(order))] for r, order in enumerate(orders)]


def messages_of(orders, rank):
    """From the sender's side only: all messages of all ranks are listed once, and each is then looked up twice, by the
    action that has made it and by the one that needs it.
    """
    where = {action: r for r, order in enumerate(orders) for action in order}
    sends, receives = {}, {}
    for action, sender in where.items():
        stage, kind, micro = re.split("([FBIW])", action)
        goes_to = {"F": int(stage) + 1, "W": int(stage)}.get(kind, int(stage) - 1)
        needed_by = f"{goes_to}{kind}{micro}"
        receiver = where.get(needed_by, sender)
        if receiver != sender:
            sends[action], receives[needed_by] = (action, receiver), (action, sender)
    return [(receives.get(action), sends.get(action)) for action in orders[rank]]


# Level 3: write ----------------------------------------------------------------------------------------------------


def gpipe_order(m, fits):
    """By repetition: if all fit it is one round; otherwise the first round, and then the same for the rest, with
    numbers that are higher by `fits`. As a function that calls itself it has no loop and no place to be off by one.
    """
    if m <= fits:
        return [f"F{i}" for i in range(m)] + [f"B{i}" for i in range(m)][::-1]
    rest = [f"{word[0]}{int(word[1:]) + fits}" for word in gpipe_order(m - fits, fits)]
    return gpipe_order(fits, fits) + rest


def interleaved_order(p, m, v, rank):
    """By counting: the k-th pass of a rank tells its stage and micro-batch, as in Megatron-LM. Every p passes the stage
    changes, every p v passes the group. So the order needs no lists, only two counters, and the rule when to go
    forward: as long as fewer than warm-up + 1 passes are open.
    """
    total, open_at_most = m * v, (v - 1) * p + 2 * (p - 1 - rank) + 1

    def word(kind, k):
        group, place = divmod(k, p * v)
        chunk, i = divmod(place, p)
        chunk = chunk if kind == "F" else v - 1 - chunk
        return f"{chunk * p + rank}{kind}{group * p + i}"

    order, forward, backward = [], 0, 0
    for _ in range(2 * total):
        if forward < total and forward - backward < open_at_most:
            order.append(word("F", forward))
            forward += 1
        else:
            order.append(word("B", backward))
            backward += 1
    return order


def first_wrong_action(rows):
    """By the column of each pass: noted when it is first drawn, infinity if never. Then each drawn pass is compared
    with what it needs, and the least (column, rank) of the wrong ones is the answer; nothing depends on an order of
    looking.
    """
    p, columns, when = len(rows), len(rows[0]), {}
    drawn = [(column, r, rows[r][column]) for column in range(columns) for r in range(p) if rows[r][column]]
    for column, r, word in drawn:
        when.setdefault((r, word), column)

    def ready(r, word):
        if word[0] == "F":
            return when.get((r - 1, word), math.inf) if r else -math.inf
        behind = when.get((r + 1, word), math.inf) if r + 1 < p else -math.inf
        return max(behind, when.get((r, "F" + word[1:]), math.inf))

    wrong = [(column, r) for column, r, word in drawn if ready(r, word) >= column or when[r, word] < column]
    wrong += [(columns, r) for r in range(p) for _, _, w in drawn for kind in "FB" if (r, kind + w[1:]) not in when]
    return min(wrong)[::-1] if wrong else None


def partition(seconds, p):
    """Asked the other way round: how many stages are needed if none may be slower than a bound? Filling stages one
    after the other answers that, and the least bound for which p will do is found by bisection, in N log(sum) steps.
    Filling goes wrong only if the bound is a guess, such as the mean. If fewer than p stages come out, any of more than
    one layer is cut once more, which makes nothing slower.
    """

    def filled(bound):
        sizes, total = [], math.inf
        for each in seconds:
            if total + each > bound:
                sizes.append(0)
                total = 0
            sizes[-1] += 1
            total += each
        return sizes

    bounds = range(max(seconds), sum(seconds))
    sizes = filled(bounds.start + bisect.bisect_left(bounds, True, key=lambda bound: len(filled(bound)) <= p))
    for _ in range(p - len(sizes)):
        k = next(k for k, size in enumerate(sizes) if size > 1)
        sizes[k : k + 1] = [1, sizes[k] - 1]
    return sizes


def split_backward(comm, weights, xs, dy, multiply):
    """With a queue, as a framework does it: the first part puts into it what is left to do, as functions without
    arguments, and the second part empties it. The first part need not know what a layer is, and the queue may be
    emptied whenever the rank has time.
    """
    if dy is None:
        dy = np.zeros(xs[-1].shape)
        comm.Recv(dy, source=comm.rank + 1)
    queue = []
    for layer in range(len(weights), 0, -1):
        dz = np.where(xs[layer] > 0, dy, 0)
        queue.append(lambda x=xs[layer - 1], dz=dz: multiply(comm, x.T, dz))
        dy = multiply(comm, dz, weights[layer - 1].T)
    requests = [comm.Isend(dy, dest=comm.rank - 1)] if comm.rank else []
    gradients = [later() for later in queue]
    mpi.waitall(requests)
    return gradients[::-1]


def weight_stash(w, order, forward, backward, rate):
    """All versions in a list, and for each micro-batch the number of the one that it has used. What would have to be
    kept after an update is every version from the oldest that is still used: each was the latest when it was made, but
    only those that some micro-batch has used count.
    """
    versions, used, left, most = [w.copy()], {}, {}, 1
    for action in order:
        i = int(action[1:])
        if action.startswith("F"):
            used[i], left[i] = len(versions) - 1, forward(versions[-1], i)
            continue
        step = rate * backward(versions[used.pop(i)], i, left.pop(i))
        versions.append(versions[-1] - step)
        most = max(most, len({*used.values()}) + 1)
    return versions[-1], most


# Level 4: repair ---------------------------------------------------------------------------------------------------


def blocking_both_ways(comm, x, forward, backward, m):
    """With calls that send and receive at once: after a forward pass in turn a rank sends its activation and receives
    the gradient that it needs next; after a backward pass it sends the gradient and receives the next activation. That
    is what Megatron-LM does. Whom the one waits for, it would have to wait for anyway.
    """
    p, r = comm.size, comm.rank
    up, down = r - 1 if r else mpi.PROC_NULL, r + 1 if r < p - 1 else mpi.PROC_NULL
    warmup = min(p - 1 - r, m)
    dx, y = np.empty_like(x), {}
    for i in range(warmup):
        comm.Recv(x[i], source=up)
        y[i] = forward(comm, i, x[i])
        comm.Send(y[i], dest=down)
    if warmup < m:
        comm.Recv(x[warmup], source=up)
    for i in range(m - warmup):
        y[warmup + i] = forward(comm, warmup + i, x[warmup + i])
        dy = y[i].copy()
        comm.Sendrecv(y[warmup + i], dest=down, recvbuf=dy, source=down)
        dx[i] = backward(comm, i, dy)
        if warmup + i + 1 < m:
            comm.Sendrecv(dx[i], dest=up, recvbuf=x[warmup + i + 1], source=up)
        else:
            comm.Send(dx[i], dest=up)
    for i in range(m - warmup, m):
        dy = np.empty_like(y[i])
        comm.Recv(dy, source=down)
        dx[i] = backward(comm, i, dy)
        comm.Send(dx[i], dest=up)
    return dx


def mean_over_micro_batches(gradient, X, y, m):
    """Sums in place of means: a micro-batch's mean times its own number of targets is its sum, and the sums are added
    up; one division in the end. So the number of all targets is needed last, not first, and what is added up is exact
    for any cut. Where nothing counts there is nothing to add.
    """
    sums, counts = [np.zeros(X.shape[1])], []
    for X_part, y_part in zip(np.array_split(X, m), np.array_split(y, m)):
        counts.append(np.count_nonzero(y_part >= 0))
        if counts[-1]:
            sums.append(gradient(X_part, y_part) * counts[-1])
    return sum(sums) / sum(counts)


# Level 5: speed up -------------------------------------------------------------------------------------------------


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    """Over b and not over m: from the largest micro-batches, the fewest, to the smallest. The first of the quickest is
    the one with the smallest m. A candidate is taken only if it is really quicker than the best so far.
    """
    choice, shortest = None, math.inf
    for b in range(batch, 0, -1):
        m, rest = divmod(batch, b)
        if rest:
            continue
        forward, message, room = fixed + b * slope, alpha + b * beta, memory - weights
        seconds = (m + p - 1) * forward
        if min(m, p) * b * kept <= room and message <= forward and seconds < shortest:
            choice, shortest = m, seconds
    return choice


def fill_the_bubble(p, m):
    """From the memory's side: a W is done when there is no room for the next F otherwise. So every rank puts off as
    much as it has room for, without anybody counting how much that is. After the last F nothing is short but time:
    there a W follows each I, as the next I is not there yet.
    """
    orders = []
    for r in range(p):
        order, kept, done = [], 0, 0
        for word in stage_order(p, m, r, p):
            full = word[0] == "F" and kept == p
            order += [f"W{done}"] * full + [word.replace("B", "I")]
            kept += word[0] == "F" and not full
            late = word[0] == "B" and f"F{m - 1}" in order
            order += [f"W{done}"] * late
            done += full or late
        orders.append(order + [f"W{i}" for i in range(done, m)])
    return orders
