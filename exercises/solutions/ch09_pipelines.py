"""Solutions of chapter 9. Each docstring says why it works; it is shown once the exercise is solved."""

import math
import re

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bubble_share(schedule, p, m, v):
    """A rank's work is m passes forward and backward. GPipe's and 1F1B's step is as long as m + p - 1 of them: the
    first micro-batch needs p - 1 passes to come to the last rank, and its gradient as many to come back. So p - 1 of
    m + p - 1 are idle, on every rank, and how long a backward pass takes cancels. 48 layers on 8 ranks with 32
    micro-batches: 7 / 39 = 17.9 %, with both. 1F1B shrinks memory and not the bubble.

    Naively one rank works at a time: (p - 1) / p, however many micro-batches there are. With v stages on a rank the
    way to the last stage's rank is as long, but made of passes a v-th as long: (p - 1) / v in place of p - 1. (p - 1) /
    m, and p / m for short, is another number: idle time over work, not over time. For 8 ranks and 8 micro-batches it
    is 88 %, and the share of time 47 %. Follow-up: what is the share of a pipeline that never flushes?
    """
    if schedule == "naive":
        return (p - 1) / p
    return (p - 1) / (v * m + p - 1)


def least_micro_batches(p, percent):
    """(p - 1) / (m + p - 1) <= share is m >= (p - 1) (1 - share) / share. In whole percents that is an exact division,
    rounded up; with share = percent / 100 as a float it can be just above a whole number, and one too many comes out.

    20 % need 4 (p - 1), so 4 p is a little more than enough; 10 % need 9 (p - 1), 5 % need 19 (p - 1): half the bubble
    costs more than twice the micro-batches. For a fixed batch these are half as large, and small matrices are slow. A
    pipeline of one rank has no bubble; it still needs a micro-batch. Follow-up: how many does it take with v stages a
    rank?
    """
    return max(1, -((p - 1) * (percent - 100) // percent))


def activations_kept(schedule, p, m, batch):
    """Rank r is p - 1 - r passes forward ahead when its first backward pass comes, and has one more in hand: p - r
    micro-batches, or all m if there are fewer. From then on each forward pass follows on a backward pass. GPipe has
    done all m forward passes before it frees anything.

    So for a given batch GPipe needs batch / p on every rank, whatever m is: more micro-batches are smaller ones. 1F1B
    needs (p - r) / m of that, and half of it for twice as many. In the example that is 16 GB against 8, 6, 4, 2 GB
    with 8 micro-batches, and 4, 3, 2, 1 GB with 16. Whoever writes "M P A against P A" compares the whole cluster with
    one rank: it is M against at most P for a rank, and M P against P (P + 1) / 2 for all. Follow-up: rank 0 keeps most
    and the last rank least. What could the last rank use its memory for?
    """
    in_hand = [m if schedule == "GPipe" else min(p - r, m) for r in range(p)]
    return [number * batch / (p * m) for number in in_hand]


def which_schedule():
    """GPipe keeps all m micro-batches, and these together are the batch, so A is GPipe's. B is what 1F1B is for. C
    cannot be, in any order: the last rank begins after p - 1 forward passes of the others, has m passes of each kind to
    do, and p - 1 backward passes of the others follow. Nor D: none of the five makes both smaller. The interleaved
    schedule pays in messages, with p v - 1 crossings in place of p - 1, and in memory, with p + (p - 1) / v
    micro-batches in place of p; and its last rank sends to the first, E and J. ZB-H1 fills two thirds of the bubble
    with work that nobody waits for, and pays in nothing but code, F.

    PipeDream pays in gradients at old weights, and in versions of the weights: p of them on the first rank, G and H. It
    saves no memory. No pipeline needs as many ranks as layers; it is the other way round, at most as many, I. And an
    order of passes does not balance stages: the longest sets the pace of them all, K. Follow-up: PipeDream-2BW needs
    two versions on every rank. What does it wait for that PipeDream does not?
    """
    return {
        "A": "GPipe",
        "B": "1F1B",
        "E": "interleaved",
        "F": "ZB-H1",
        "G": "PipeDream",
        "H": "PipeDream",
        "J": "interleaved",
        **dict.fromkeys("CDIK", "none"),
    }


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    """What goes from layer to layer is n = 2 batch s h bytes. Tensor parallelism sums it four times in each layer, and
    a ring all-reduce sends 2 (P - 1) / P n: 8 (P - 1) / P n for each layer. A pipeline's rank in the middle sends it
    once forward, and its gradient once backward: 2 n for all its layers, however many they are. The ratio is 4 layers
    (P - 1) / P, 280 in the example. How the batch is cut changes neither.

    Fewer bytes are not the end of it. TP's ranks wait for theirs; PP's travel while others are computed, but p - 1 of m
    + p - 1 passes are idle, which makes the step (p - 1) / m longer. In the example that is 36.6 s against 38.1 s at
    450 GB/s, and 127.5 s against 38.1 s at 25 GB/s. So: TP inside a machine, PP between machines, and both in large
    trainings. Left out: smaller matrices (both), TP's overlap, the memory of either. Follow-up: with how many
    micro-batches does PP win inside the machine as well?
    """
    n = 2 * batch * s * h
    tp, pp = 4 * layers * 2 * (P - 1) * n // P, 2 * n
    tp_seconds = seconds / P + tp / bandwidth
    pp_seconds = seconds / P * (m + P - 1) / m
    return tp, pp, "TP" if tp_seconds < pp_seconds else "PP"


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stage_order(p, m, stage, fits):
    """While the first micro-batch goes on to the last stage, this one works ahead: p - 1 - stage forward passes, one
    for each stage behind it; hence min, where there are not as many micro-batches. After that every forward pass is
    followed by a backward pass, so what is kept does not grow: p - stage micro-batches.

    The last stage has no warm-up and no rest at all: F0 B0 F1 B1 ... With one pass fewer in the warm-up no stage waits
    for ever, but the pipeline runs dry: a stage then waits for a gradient while it could have gone forward. With one
    more it is no quicker, and keeps one micro-batch more. Where fewer fit, the warm-up has fits - 1 of them: taking
    turns begins with a forward pass of its own. Follow-up: how long is the warm-up that hides a slow link?
    """
    warmup = min(p - 1 - stage, m, fits - 1)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]


def when_it_ends(orders, seconds, send):
    """A rank does its actions in its order; each starts when the rank is free and when what it needs has come, so at
    the later of the two. That is the whole of a simulator, and the outer loop only makes sure that what is needed has
    been worked out before. Every time is worked out once, and exactly, whatever an action costs.

    A message delays who receives it and not who sends it: that is why a pipeline's sends must not block. Yet they cost
    time in 1F1B: with p stages and a send of c seconds each micro-batch waits 2 c (p - 1) / p longer, so the bubble
    grows with m. (A micro-batch's way there and back takes 2 c (p - 1) longer, and p are on their way at once.) A
    longer warm-up hides it, at the price of memory. Follow-up: what would have to change if a link carried one message
    at a time?
    """
    end = {}
    free = [0.0 for _ in orders]
    times = [[] for _ in orders]
    while any(len(times[r]) < len(order) for r, order in enumerate(orders)):
        for r, order in enumerate(orders):
            for action in order[len(times[r]) :]:
                needed = (r - 1, action) if action[0] == "F" else (r + 1, action)
                if 0 <= needed[0] < len(orders) and needed not in end:
                    break
                start = max(free[r], end.get(needed, -send) + send)
                end[r, action] = free[r] = start + seconds[action[0]]
                times[r].append((start, end[r, action]))
    return times


def messages_of(orders, rank):
    """Forward passes go along the model, backward passes against it, and W stays. So an action's result belongs to the
    stage after it in its own direction, and what it needs comes from the stage before. A message is sent exactly if the
    two stages live on different ranks: neither the first stage's gradient nor the last one's loss leaves, and in a V,
    where a rank has both sides of the turn, the turn costs nothing.

    Both sides give the message the same name, as they derive it from the same orders; so a name can be a tag, and
    messages may overtake each other. No schedule has a line of communication in it, and no two descriptions can
    disagree: interleaving, V shapes and split backward passes run with these ten lines. Follow-up: if a stage lives on
    two ranks, each of which has half of the micro-batches, what must `home` be asked?
    """
    home = {int(re.match(r"\d+", action)[0]): r for r, order in enumerate(orders) for action in order}
    table = []
    for action in orders[rank]:
        stage, kind, micro = re.fullmatch(r"(\d+)([FBIW])(\d+)", action).groups()
        way = {"F": 1, "B": -1, "I": -1, "W": 0}[kind]
        before, after = int(stage) - way, int(stage) + way
        receive = (f"{before}{kind}{micro}", home[before]) if home.get(before, rank) != rank else None
        send = (action, home[after]) if home.get(after, rank) != rank else None
        table.append((receive, send))
    return table


# Level 3: write ----------------------------------------------------------------------------------------------------


def gpipe_order(m, fits):
    """Rounds of as many micro-batches as fit, and what is left over in the last one; in each, forward and then backward
    in reverse order. Every stage does the same, and waits where it must: that needs no plan of who works when.

    Each round fills the pipeline and empties it again, so it costs the bubble of p - 1 forward and backward passes once
    more. In the example 33 s become 42 s in two rounds, and 96 s in eight: then it is the naive order. That is how
    GPipe pays for a lack of memory; 1F1B keeps p micro-batches at most and fills the pipeline once. Follow-up: what is
    the least number of micro-batches that must fit for a bubble of at most 20 % with 4 stages?
    """
    order = []
    for start in range(0, m, fits):
        group = range(start, min(start + fits, m))
        order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
    return order


def interleaved_order(p, m, v, rank):
    """Two lists, and one number that says how they are mixed. The forward list goes round: p micro-batches through the
    rank's first stage keep it busy until the first of them has been through all other ranks and comes back for the
    second stage. That is why a group has p, and why p divides m. The backward list is its mirror.

    The last rank can go backward once micro-batch 0 has come to the last stage, after (v - 1) p passes; each rank
    before it begins one pass earlier and sends one message, hence two more. With one more it would be as quick, as long
    as messages take no time, and would keep less: that is the trade. The bubble is (p - 1) (F + B) / v; the price are p
    v - 1 crossings in place of p - 1, and, if m > p, v p + p - 1 activations of a v-th on rank 0 in place of p whole
    ones. Follow-up: what happens in the last group if p does not divide m?
    """
    stages = range(rank, p * v, p)
    forward = [f"{s}F{i}" for g in range(0, m, p) for s in stages for i in range(g, g + p)]
    backward = [f"{s}B{i}" for g in range(0, m, p) for s in reversed(stages) for i in range(g, g + p)]
    warmup = min((v - 1) * p + 2 * (p - 1 - rank), m * v)
    order = forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        order += [f, b]
    return order + backward[m * v - warmup :]


def first_wrong_action(rows):
    """Column by column, with the set of all that has been done in the columns before: a pass is right if what it needs
    is in the set, and it is not. A column is added only when it has been looked at as a whole, so passes of one column
    cannot need each other.

    This proves a drawing, and it does so without a rule for any schedule: whatever a schedule is called, these needs
    are all there are. What is drawn in many a lecture has rank 0 go backward when the gradient is still two ranks away;
    with four ranks and four micro-batches it has 11 columns where 14 are needed, and half of the bubble. A validator
    names the place, because "invalid" is no help. Follow-up: if only the orders are given and not the columns, what
    does a wrong one look like? (Ranks that wait for each other in a circle.)
    """
    p, columns, done, micro = len(rows), len(rows[0]), set(), set()
    for column in range(columns):
        now = [(r, rows[r][column]) for r in range(p) if rows[r][column]]
        for r, word in now:
            needed = {(r - 1, word)} if word[0] == "F" else {(r, "F" + word[1:]), (r + 1, word)}
            if (r, word) in done or {need for need in needed if 0 <= need[0] < p} - done:
                return r, column
        done.update(now)
        micro.update(word[1:] for _, word in now)
    missing = (r for r in range(p) if any((r, kind + i) not in done for i in micro for kind in "FB"))
    return next(((r, columns) for r in missing), None)


def partition(seconds, p):
    """Where is the last cut? If the layers from k on are the last stage, the first k are cut into one stage fewer, as
    well as possible: that is the same question, smaller. There are N p of them, each with N answers to compare: O(N^2
    P), as prefix sums give any stage's seconds at once. The sizes are carried along; one could also note each best k
    and go back through them.

    Max and not sum: all stages work at once, and the slowest sets the pace. With a sum every cut of equal ranks costs
    the same, namely everything, and the programme returns whatever it has tried first. Equal numbers of layers fail on
    the head, and filling stages one after the other fails as it never looks ahead. Follow-up: messages and memory go in
    as a cost of a stage; which of them may depend on the number of the stage?
    """
    N = len(seconds)
    upto = [sum(seconds[:i]) for i in range(N + 1)]
    best = {0: (-math.inf, [])}
    for r in range(1, p + 1):
        best = {
            i: min((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k < i)
            for i in range(r, N + 1)
        }
    return best[N][1]


def split_backward(comm, weights, xs, dy, multiply):
    """A layer's gradient for its input is needed at once, by the layer before; the one for its weights is needed by
    nobody until the update. So the first loop goes through all layers with one product each, and sends; the second one
    does what is left. It needs each layer's x, which was kept anyway, and its dz, which is the price.

    All ranks' first parts follow each other, P L products, and all second parts but the first rank's are done
    meanwhile: (P + 1) L in place of 2 P L. Autograd does both at once, which is why zero-bubble schedules have to take
    it apart. Rank 0 could even leave out the gradient for its xs[0], which nobody needs. Follow-up: with many
    micro-batches, when should a rank do its second parts, if what they keep costs memory?
    """
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    dzs = []
    for W, y in zip(reversed(weights), reversed(xs)):
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W.T)
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]


def weight_stash(w, order, forward, backward, rate):
    """Each micro-batch carries the version that it has used from its forward to its backward pass, with a name to
    tell versions apart. The update goes to the latest weights: the gradient is old, what it changes is not. As w = w -
    step makes a new array, versions that are kept stay as they were; with w -= step all of them would be one.

    On stage s of p it is p - s versions: from a micro-batch's forward to its backward pass p - 1 - s updates come in
    between. So the first stage pays most, in memory and in delay, and the last one nothing at all. Without the stash
    the backward pass would multiply by other weights than the forward pass did, which is the gradient of nothing.
    Follow-up: why do two versions suffice if the stage updates after every p micro-batches only (PipeDream-2BW)?
    """
    stash, version, most = {}, "the first", 1
    for action in order:
        i = int(action[1:])
        if action[0] == "F":
            stash[i] = version, w, forward(w, i)
        else:
            _, used, left = stash.pop(i)
            w = w - rate * backward(used, i, left)
            version = f"after {action}"
            most = max(most, len({each for each, _, _ in stash.values()} | {version}))
    return w.copy(), most


# Level 4: repair ---------------------------------------------------------------------------------------------------


def blocking_both_ways(comm, x, forward, backward, m):
    """Rank 0 stands in Send with its second activation, rank 1 in Send with its first gradient: each waits for the
    other to receive, and neither comes to the next line. With the orders of 1F1B this is so from two ranks on. So let
    no rank wait in a send: Isend begins, the rank goes on, and all is waited for in the end. Until then the array
    belongs to MPI. Hence the gradient is received into an array of its own, and not into the one whose message may not
    be through.

    Other repairs cost more: forward passes first, as in GPipe, never meet a message that comes the other way, and keep
    all m micro-batches; one micro-batch at a time is safe, and the pipeline is none. Frameworks group a send with the
    receive from the same neighbour (Sendrecv), which works as well where orders fit each other so; nonblocking sends
    work for every order. Follow-up: which tags are needed when a rank has several stages?
    """
    p, r = comm.size, comm.rank
    warmup = min(p - 1 - r, m)
    order = [("F", i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [("F", warmup + i), ("B", i)]
    order += [("B", i) for i in range(m - warmup, m)]
    y, dx, requests = {}, np.empty_like(x), []
    for kind, i in order:
        if kind == "F":
            if r:
                comm.Recv(x[i], source=r - 1)
            y[i] = forward(comm, i, x[i])
            if r < p - 1:
                requests.append(comm.Isend(y[i], dest=r + 1))
        else:
            dy = y[i]
            if r < p - 1:
                dy = np.empty_like(dy)
                comm.Recv(dy, source=r + 1)
            dx[i] = backward(comm, i, dy)
            if r:
                requests.append(comm.Isend(dx[i], dest=r - 1))
    mpi.waitall(requests)
    return dx


def mean_over_micro_batches(gradient, X, y, m):
    """The mean over all targets is the sum of the micro-batches' means, each weighted by its share of the targets that
    count. A mean of means weighs every micro-batch alike, and so a target in a short or padded one more than others: no
    error, no NaN, only a slightly different training, that changes with m.

    And it is NaN where nothing counts, which a weight of 0 does not take away: 0 times NaN is NaN. Divide by
    how many targets count over all micro-batches, and in data parallelism over all ranks as well. They can be counted
    first, as here, or on the way, if the sum of gradients is divided in the end. Follow-up: which of the three numbers,
    samples, targets or micro-batches, does your framework divide by if you accumulate gradients?
    """
    total, count = 0.0, np.sum(y >= 0)
    for part in np.array_split(np.arange(len(y)), m):
        share = np.sum(y[part] >= 0) / count
        if share > 0:
            total += gradient(X[part], y[part]) * share
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    """Every m that divides the batch is tried: those that do not fit or whose messages are not hidden are left out, and
    the quickest of the others wins. A step is (m + p - 1) (fixed + b slope) times three: many micro-batches have a
    small bubble, few have little fixed cost, and the best is near sqrt((p - 1) batch slope / fixed).

    1F1B keeps min(m, p) micro-batches of batch / m samples: beyond p, more micro-batches need LESS memory. So "the
    largest m that fits" has it the wrong way round; m times b is the batch, whatever m is. And bytes and seconds of a
    micro-batch both go with b: a link that is too slow is so for any m, but for the fixed costs. Only alpha makes
    small messages slow, and fixed hides it. Follow-up: when does halving the batch on twice as many pipelines beat any
    m?
    """
    best = None
    for m in range(1, batch + 1):
        b = batch // m
        forward = fixed + b * slope
        if batch % m == 0 and alpha + b * beta <= forward and weights + min(m, p) * b * kept <= memory:
            best = min(best or (math.inf,), ((m + p - 1) * forward, m))
    return best and best[1]


def fill_the_bubble(p, m):
    """F and I as in 1F1B, and rank r puts its W off by r micro-batches. Rank r keeps p - r of 1F1B, and r more that
    wait for their W: p everywhere, which is what rank 0 needs anyway. In the end, where 1F1B's ranks wait for gradients
    from behind, each has W left to do.

    The last rank begins p - 1 seconds late and never waits: 3 m + p - 1. When it has done its last I it has p W left,
    and just as long takes what comes after that I elsewhere: p - 1 times I on the way to rank 0, and rank 0's own W. In
    1F1B the last rank would have nothing left then, and the way back takes whole backward passes, 2 (p - 1) seconds
    more. This is ZB-H1. With twice the warm-up and room for 2 p - 1 the last rank's late start is filled, too (ZB-H2).
    Follow-up: what becomes of it if W takes half as long as I?
    """
    orders = []
    for r in range(p):
        ahead = p - 1 - r
        order = [f"F{i}" for i in range(ahead)]
        for i in range(m):
            order += [f"F{i + ahead}"] * (i + ahead < m) + [f"I{i}"] + [f"W{i - r}"] * (i >= r)
        orders.append(order + [f"W{i}" for i in range(m - r, m)])
    return orders
