"""Chapter 9: pipeline parallelism. Replace each `raise NotImplementedError` by your answer, then run:
pytest exercises/

The chapter's page is chapters/09_pipelines.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (20), 4 repair (15), 5 speed up (20).

A model is cut into p stages, a batch into m micro-batches, and both are numbered from 0. A micro-batch passes forward
through stages 0 to p - 1 and then backward through p - 1 to 0. Rank r has stage r, unless an exercise says otherwise.
The order in which a rank works is a list of strings: "F2" is the forward pass of micro-batch 2, "B2" its backward pass.
Where a rank has several stages the number of the stage stands in front: "5F2" is stage 5, forward, micro-batch 2.

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Send`, `comm.Recv`, `comm.Isend` and `comm.Irecv` move arrays between two ranks, as in mpi4py;
`mpi.waitall(requests)` waits for what Isend and Irecv have begun; until then their arrays belong to MPI, and must be
left alone. A message of n bytes takes alpha + n beta seconds.

Unless an exercise says otherwise, arguments stay as they are, and what is returned is memory of its own.
"""

import math
import re

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bubble_share(schedule, p, m, v):
    """Return the share of its time in which a pipeline does nothing: 0 means always busy, 1 means never.

    schedule  "naive": a micro-batch goes forward and backward through all stages before the next one starts.
              "GPipe": all forward passes, then all backward passes, then the weights are updated.
              "1F1B": each rank begins a backward pass as soon as it can, and then takes turns: one forward, one
              backward. When all are done, the weights are updated.
              "interleaved": 1F1B on p v shorter stages. Rank r has stages r, r + p, r + 2 p, ..., v of them; a stage's
              passes take a v-th of the time. Its bubble is as short as it can be.
    p         ranks, at least 1. All have the same amount of work; a backward pass takes twice as long as a forward one.
    m         micro-batches. For "interleaved" p divides m.
    v         stages of a rank for "interleaved"; 1 otherwise

    Counted is from the first pass to the last one, over all ranks; messages take no time.

    Try it: 48 layers on 8 ranks with 32 micro-batches are idle for 17.9 % of the time with GPipe. And with 1F1B?

    Page: chapters/09_pipelines.ipynb#predict
    """
    raise NotImplementedError


def least_micro_batches(p, percent):
    """Return the least number of micro-batches with which a 1F1B pipeline is idle for at most so many percent.

    p        ranks, all with the same amount of work
    percent  whole number from 1 to 99, of all ranks' time from the first pass of a step to the last

    "Take at least 4 p micro-batches, and it is less than 20 %" one reads. That is true. Is it the least?

    Page: chapters/09_pipelines.ipynb#predict
    """
    raise NotImplementedError


def activations_kept(schedule, p, m, batch):
    """Return for each rank the most bytes of activations that it has to keep at any time: a list of p numbers.

    schedule  "GPipe" or "1F1B"
    p         ranks
    m         micro-batches, also fewer than p
    batch     bytes of the activations of a whole batch in all layers. Every micro-batch has an m-th of them, and every
              stage a p-th of those.

    What a stage's forward pass of a micro-batch leaves behind is kept until its backward pass has ended. A pass that
    has begun counts. Fractions of a byte do not matter.

    Try it: 64 GB on 4 ranks in 8 micro-batches are 16 GB a rank with GPipe. How many are they in 16 micro-batches, and
    how many with 1F1B?

    Page: chapters/09_pipelines.ipynb#predict
    """
    raise NotImplementedError


def which_schedule():
    """Return a dictionary from the letter of each statement to the name of the only schedule for which it is true.

    Names: "GPipe"        all forward passes, then all backward passes, then an update
           "1F1B"         forward and backward in turn, as soon as possible; then an update
           "interleaved"  1F1B with several shorter stages on each rank, as in bubble_share
           "PipeDream"    1F1B without end: each stage updates its weights after each of its backward passes
           "ZB-H1"        1F1B, whose backward passes are in two parts: the gradient for the input, which is sent to the
                          stage before, at once; that for the weights in what would be 1F1B's idle time
           "none"         it is true for none of these five

    p ranks, at least 4; m micro-batches, more than 2 p; all stages have the same costs, and messages take no time. The
    backward pass takes twice as long as the forward pass, and each of its parts a half of it. Bubble: idle time of all
    ranks in a step, or, without steps, in a long run. Memory for activations: that of the rank that needs most.

    A   Cutting the same batch into twice as many micro-batches leaves the memory for activations as it is.
    B   Its bubble is as large as GPipe's, and its memory for activations smaller.
    C   Its bubble is smaller than GPipe's, although every rank has one stage, every backward pass is in one piece, and
        the gradients are those of the whole batch at the same weights.
    D   Its bubble is smaller than 1F1B's, and so is its memory for activations.
    E   Its bubble is smaller than 1F1B's, for which it sends more than twice as many messages and needs more memory for
        activations.
    F   Its bubble is smaller than 1F1B's; it sends no more messages, needs no more memory for activations, and its
        gradients are those of the whole batch at the same weights.
    G   In the long run its bubble is nothing, whatever m is; it pays with gradients at weights that are out of date.
    H   Some ranks must keep several versions of their weights.
    I   It needs at least as many ranks as the model has layers.
    J   It needs more links than those between rank r and rank r + 1.
    K   It balances stages of which one has twice as much to do as the others.

    Page: chapters/09_pipelines.ipynb#which-schedule-when
    """
    raise NotImplementedError


def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
    """Return (tp, pp, quicker): the bytes that a rank sends in a step with tensor and with pipeline parallelism, and
    which is quicker, "TP" or "PP".

    P          ranks, at least 3
    layers     transformer layers, a multiple of P
    batch      sequences in a step, of s tokens each; what goes from layer to layer is h numbers of 2 bytes a token, and
               so is its gradient
    m          micro-batches into which the batch is cut; it is a multiple of m
    seconds    that one rank alone would compute for the whole step: all layers, forward and backward
    bandwidth  bytes per second of a link in one direction; messages have no latency

    "TP": every rank has a P-th of each layer. In the forward pass a layer sums its output over all ranks twice, after
    attention and after the MLP; in the backward pass the gradient for its input, twice. Each sum is a ring all-reduce
    of what goes from layer to layer, and the ranks wait for it. Otherwise they share the computing evenly.

    "PP": every rank has layers / P whole layers that follow each other, in a 1F1B pipeline. Let its messages
    cost no time. The bytes asked for are those of a rank in the middle.

    Try it: 80 layers on 8 ranks, 64 sequences of 4096 tokens, h = 8192, 32 micro-batches, 250 seconds. TP sends 280
    times as many bytes. Which is quicker over links of 450 GB/s inside a machine, and over 25 GB/s between machines?

    Page: chapters/09_pipelines_large.ipynb#what-it-sends-tensor-or-pipeline-parallelism
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stage_order(p, m, stage, fits):
    """Return the order in which a stage works in a 1F1B pipeline: a list of strings such as "F0" and "B0".

    p      stages
    m      micro-batches; there may be fewer than p
    stage  from 0 to p - 1
    fits   how many micro-batches a stage has room for, from forward to backward pass: at least 1, perhaps more than
           1F1B needs. The same for all stages.

    In the beginning there is nothing to do but forward passes. The last stage can do the backward pass of micro-batch 0
    directly after its forward pass; the stage before has time for one more forward pass meanwhile, and so on. From then
    on a stage takes turns, one forward and one backward pass. In the end the backward passes that are left follow. All
    go in the order of the micro-batches. Where not so many micro-batches fit, a stage takes turns sooner, as late as it
    can: it is then slower, and keeps no more than `fits` of them at any time.

    Example: stage 1 of 3 with 4 micro-batches does F0 F1 B0 F2 B1 F3 B2 B3 if two of them fit, or more. Draw stages 0
    and 2; and all three, if two fit.
    Remove the first line below and fill in the three blanks `___`.

    Page: chapters/09_pipelines.ipynb#micro-batches
    """
    raise NotImplementedError
    warmup = ___
    order = [f"F{i}" for i in range(warmup)]
    for i in range(___):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(___, m)]


def when_it_ends(orders, seconds, send):
    """Return when each action starts and ends: times[r][k] is (start, end) of the k-th action of rank r.

    orders   list: of each rank the order of its actions, a list of strings such as "F0" and "B0". They can be carried
             out: no rank waits for ever.
    seconds  dictionary: how long an action takes, by its letter: {"F": 1.0, "B": 2.0}
    send     seconds from the end of an action until what it has computed is on another rank

    The first action starts at 0. An action starts as soon as its rank has done the one before and what it needs has
    come: a forward pass needs that of the same micro-batch on the rank before, a backward pass that on the rank behind;
    the last rank's backward pass needs its own forward pass. While a message travels, its sender computes on.

    Example: [["F0", "B0"], ["F0", "B0"]] with a send of 0.5 gives [[(0, 1), (5, 7)], [(1.5, 2.5), (2.5, 4.5)]].
    Remove the first line below and fill in the three blanks `___`.

    Page: chapters/09_pipelines_practice.ipynb#run-simulated-and-measured
    """
    raise NotImplementedError
    end = {}  # (rank, action): when it ended
    free = [0.0 for _ in orders]  # when the rank has done all so far
    times = [[] for _ in orders]
    while any(len(times[r]) < len(order) for r, order in enumerate(orders)):
        for r, order in enumerate(orders):
            for action in order[len(times[r]) :]:
                needed = (r - 1, action) if action[0] == "F" else ___
                if 0 <= needed[0] < len(orders) and needed not in end:
                    break  # the other ranks have to get on first
                start = max(free[r], ___)
                end[r, action] = free[r] = ___
                times[r].append((start, end[r, action]))
    return times


def messages_of(orders, rank):
    """Return what a rank receives before and sends after each of its actions: a list of (receive, send).

    orders   list: of each rank the order of its actions, such as "5F2": stage 5, forward, micro-batch 2. A rank may
             have several stages, not always next to each other; each stage is on one rank. Backward passes are in one
             piece, "5B2", or all of them in two: "5I2" computes the gradient for the input, which the stage before
             needs, and "5W2" the gradient for the weights, which nobody else needs.
    receive  (name, other): what the rank receives before the action, and from which rank. The name of a message is the
             action that has made it. None if the action needs nothing from another rank.
    send     (name, other): what it sends after the action, and to which rank, or None

    This is how a pipeline knows its messages without a line of communication in any schedule. Example: stages 0 and 2
    are on rank 0 and stage 1 on rank 1. Before "1F0" rank 1 receives ("0F0", 0), and after it it sends ("1F0", 0).
    Remove the first line below and fill in the four blanks `___`.

    Page: chapters/09_pipelines.ipynb#one-interpreter-for-every-schedule
    """
    raise NotImplementedError
    home = {int(re.match(r"\d+", action)[0]): r for r, order in enumerate(orders) for action in order}
    table = []
    for action in orders[rank]:
        stage, kind, micro = re.fullmatch(r"(\d+)([FBIW])(\d+)", action).groups()
        way = {"F": 1, "B": -1, "I": ___, "W": ___}[kind]  # where the result goes along the model
        before, after = int(stage) - way, int(stage) + way
        receive = (f"{before}{kind}{micro}", home[before]) if home.get(before, rank) != rank else None
        send = (___, home[after]) if ___ else None
        table.append((receive, send))
    return table


# Level 3: write ----------------------------------------------------------------------------------------------------


def gpipe_order(m, fits):
    """Return the order in which every stage of a GPipe pipeline works, if only so many micro-batches fit into memory.

    m        micro-batches
    fits     how many of them a stage has room for, from forward to backward pass: at least 1, perhaps more than m
    returns  a list of strings such as "F0" and "B0". It is the same for all stages.

    GPipe does all forward passes, in order, and then all backward passes, the last micro-batch first. What does not fit
    is done in rounds: as many micro-batches as fit, forward and backward, then the next ones. As few rounds as
    possible, and only the last may be shorter than the others.

    Example: 5 micro-batches of which 3 fit: F0 F1 F2 B2 B1 B0 F3 F4 B4 B3.
    Try it: on 4 stages, with a forward pass of 1 s and a backward pass of 2 s, 8 micro-batches take 33 s if all fit.
    How long do they take if 4 fit, and if only one does? (1F1B needs no room for more than 4, and takes 33 s.)

    Page: chapters/09_pipelines.ipynb#micro-batches
    """
    raise NotImplementedError


def interleaved_order(p, m, v, rank):
    """Return the order in which a rank works in an interleaved pipeline: a list of strings such as "5F2".

    p     ranks
    m     micro-batches, a multiple of p
    v     stages of each rank: rank r has the stages r, r + p, r + 2 p, ...
    rank  from 0 to p - 1

    Forward passes go in groups of p micro-batches: the rank's first stage for the p micro-batches of the group, then
    its second stage for the same p, and so on to its last stage; then the next group. Backward passes go in the same
    groups, and in each from the rank's last stage to its first; in a stage always in the order of the micro-batches.

    When which of them? As in 1F1B: a warm-up of forward passes, then one forward and one backward pass in turn, then
    the backward passes that are left. The last rank's warm-up is (v - 1) p passes: that brings micro-batch 0 to the
    last stage. Each rank before it does two more than the rank behind it: one because it comes earlier, one so that a
    message has time to travel. There are never more than there are forward passes.

    Example: rank 1 of 2 with 2 micro-batches and v = 2 does 1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1. What does rank 0 do?

    Page: chapters/09_pipelines.ipynb#interleaving-smaller-stages
    """
    raise NotImplementedError


def first_wrong_action(rows):
    """Return the first action of a drawn schedule that cannot be where it is: (rank, column). None if all is right.

    rows  list: for each rank, which has the stage of that number, a list with an entry for each second: "F2", "B2" or
          "", which means that the rank is idle. Every pass takes one second. All rows have the same length.

    A forward pass needs that of the same micro-batch on the rank before; a backward pass needs the rank's own forward
    pass of the micro-batch, and the backward pass on the rank behind. What is needed must be in an earlier column, and
    messages take no time. Nothing is done twice on a rank. The first is the one in the leftmost column; of several in
    one column that of the smallest rank.

    If every action can be where it is, but on some rank a pass is missing, return that rank, the smallest of them, and
    the number of columns. Each micro-batch of which a pass is drawn anywhere has both passes on every rank.

    Try it with what is drawn in many a lecture, where each rank goes backward as soon as it has been forward. On three
    ranks: [["F0", "F1", "B0", "B1", "", ""], ["", "F0", "F1", "B0", "B1", ""], ["", "", "F0", "F1", "B0", "B1"]].

    Page: chapters/09_pipelines_practice.ipynb#which-sends-end
    """
    raise NotImplementedError


def partition(seconds, p):
    """Return a list of how many layers each stage should have, so that many micro-batches are as fast as possible.

    seconds  list: of each layer how long a micro-batch takes in it, forward and backward, a whole number of
             microseconds above 0. There may be a few hundred layers. It must not be changed.
    p        stages, at most as many as layers

    Layers stay in their order: the first stage has the first ones, and so on. Each stage has at least one. All stages
    work at once, so the slowest one sets the pace: its sum of seconds must be the least there is.

    Example: [6, 2, 2, 2, 2, 2] in two stages is [2, 4], with sums 8 and 8. There is no time to try all the ways to cut.

    Page: chapters/09_pipelines.ipynb#where-to-cut
    """
    raise NotImplementedError


def split_backward(comm, weights, xs, dy, multiply):
    """Go backward through this rank's stage in two parts, so that nobody waits for gradients of weights. Return these.

    weights   list of float64 arrays [n, n]: of each layer of the stage, in the order of the forward pass. Layer l has
              computed xs[l + 1] = np.maximum(xs[l] @ weights[l], 0). On the way back np.maximum lets a gradient through
              where its result is above 0, and makes 0 of it elsewhere.
    xs        list of float64 arrays [b, n], one more than there are layers: xs[0] has come from the rank before, and
              the last one has gone to the rank behind
    dy        on the last rank the gradient of the loss for its last x, [b, n]; None on the others. Rank r receives it
              from rank r + 1, with comm.Recv.
    multiply  a function: multiply(comm, A, B) is A @ B, and takes a while. All matrix products are made by it.
    returns   list of arrays [n, n]: the gradient of the loss for each layer's weights

    Every rank but 0 sends the gradient for its xs[0] to the rank before. All matrices have the same n and b on all
    ranks. None of the arguments may be changed.

    A layer's backward pass has two products: one for its input, which the layer before waits for, and one for its
    weights, which can wait. First do all products of the first kind, and send; then all of the others. With P ranks of
    L layers the whole takes the time of (P + 1) L products in place of 2 P L. Each is done once; rank 0 may leave out
    the one for its xs[0], for which nobody waits. No collective calls.

    Page: chapters/09_pipelines.ipynb#zero-bubble-the-backward-pass-in-two-parts
    """
    raise NotImplementedError


def weight_stash(w, order, forward, backward, rate):
    """Train one stage of PipeDream. Return (weights, most): what it ends with, and how many versions it had to keep.

    w         float64 array: the stage's weights in the beginning. It must not be changed.
    order     list of strings: the order in which the stage works, such as ["F0", "F1", "B0", "F2", "B1", "B2"]
    forward   a function: forward(w, i) is what the forward pass of micro-batch i with these weights leaves behind
    backward  a function: backward(w, i, left) is the gradient of micro-batch i, a new array as long as w. It is one
              only if `left` comes from forward(w, i) with the same weights w.
    rate      learning rate
    weights   new array

    There is no flush: directly after each backward pass the stage updates its weights by rate times the gradient,
    downhill. A forward pass takes the latest weights. Until its backward pass others may have updated them, so the
    version that it has used must be kept. `most` is the largest number of different versions that the stage has at any
    time: the latest, and those that micro-batches on their way through later stages still need. One that nobody needs
    any more is dropped before the update makes a new one.

    Try it with stages 0, 1 and 2 of stage_order(3, 8, stage, 8): how many versions has each?

    Page: chapters/09_pipelines_memory.ipynb#without-a-flush-pipedream
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def blocking_both_ways(comm, x, forward, backward, m):
    """Run this rank's stage of a 1F1B pipeline. Return the gradients for its input, an array [m, n].

    x         float64 array [m, n]: on rank 0 the micro-batches; on the others zeros of that size, into which you may
              receive, or not. On rank 0 it must not be changed.
    forward   a function: forward(comm, i, x) computes for a while, and returns the stage's output for micro-batch i, n
              numbers in a new array
    backward  a function: backward(comm, i, dy) computes for a while, and returns the gradient for the stage's input, n
              numbers in a new array. On the last rank dy is its own output, as if that were the loss's gradient.
    m         micro-batches
    returns   row i is what backward has returned for micro-batch i

    The order is right, and yet it hangs, with two ranks already. (With small messages it may work: MPI can keep those
    in a buffer of its own.) Remove the first line and repair it. The order stays 1F1B, which keeps no more than p - r
    micro-batches on rank r, and the ranks still work at the same time: no later than with sends that nobody waits for.
    Each message is sent once. No collective calls.

    Page: chapters/09_pipelines.ipynb#why-sends-must-not-block
    """
    raise NotImplementedError
    p, r = comm.size, comm.rank
    warmup = min(p - 1 - r, m)
    order = [("F", i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [("F", warmup + i), ("B", i)]
    order += [("B", i) for i in range(m - warmup, m)]
    y, dx = {}, np.empty_like(x)
    for kind, i in order:
        if kind == "F":
            if r > 0:
                comm.Recv(x[i], source=r - 1)
            y[i] = forward(comm, i, x[i])
            if r < p - 1:
                comm.Send(y[i], dest=r + 1)
        else:
            dy = y.pop(i)
            if r < p - 1:
                comm.Recv(dy, source=r + 1)
            dx[i] = backward(comm, i, dy)
            if r > 0:
                comm.Send(dx[i], dest=r - 1)
    return dx


def mean_over_micro_batches(gradient, X, y, m):
    """Return the gradient of the mean loss over a whole batch, which is computed in micro-batches.

    gradient  a function: gradient(X, y) is the gradient of the mean loss of these samples, a new array. Only targets of
              at least 0 count; -1 stands for none (padding, say). If no target counts it is 0 / 0, NaN. It raises an
              error if it gets more than ceil(n / m) samples: memory is short.
    X, y      n samples and their targets. At least one target of the batch counts. They must not be changed.
    m         micro-batches, at most n. They differ by one sample if m does not divide n.

    With any m the result must be the same as with one: the mean over all targets that count. Frameworks average over
    what they are given, so this is easily lost. Remove the first line and repair it.

    Page: chapters/09_pipelines.ipynb#one-interpreter-for-every-schedule
    """
    raise NotImplementedError
    total = 0.0
    for part in np.array_split(np.arange(len(y)), m):
        total += gradient(X[part], y[part]) / m
    return total


# Level 5: speed up -------------------------------------------------------------------------------------------------


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    """Return m, the number of micro-batches with which a step of a 1F1B pipeline is shortest. None if none will do.

    batch         samples in a step. They are cut into m micro-batches of b each: m b = batch.
    p             ranks, all with equal stages
    fixed, slope  a stage's forward pass of b samples takes fixed + b slope microseconds, its backward pass twice that
    alpha, beta   a message with the activations of b samples, or with their gradients, takes alpha + b beta
                  microseconds
    weights       bytes of a stage's weights, gradients and optimizer, whatever m is
    kept          bytes that one sample leaves behind in a stage from its forward to its backward pass
    memory        bytes that each rank has

    All are whole numbers. Take messages as hidden if none takes longer than the forward pass of a micro-batch; only
    such m will do. (Plain 1F1B hides them less well: that takes a longer warm-up.) And each rank must have room for its
    weights and for all micro-batches that it has to keep at a time. The step is then m + p - 1 forward and as many
    backward passes long. Of several m that are equally quick return the smallest.

    Two rules that one reads: the largest m for which m activations of a micro-batch fit into memory; and no more than
    the bytes that the link can carry during a step over the bytes of an activation. What does halving b do to each?

    Page: chapters/09_pipelines.ipynb#how-many-micro-batches
    """
    raise NotImplementedError


def fill_the_bubble(p, m):
    """Return for each rank an order in which the whole takes 3 m + p - 1 seconds: a list of p lists of strings.

    p  ranks: rank r has stage r
    m  micro-batches, at least p

    Backward passes are in two parts: "I2" computes the gradient for the input of micro-batch 2, for which the rank
    before waits, and "W2" the gradient for the weights, for which nobody does. W2 comes after I2, at any time. "F2",
    "I2" and "W2" take one second each, messages none. Every rank does all three once for each micro-batch.

    From F2 to W2 a rank keeps what W2 needs: so F2 begins with one micro-batch more to keep, and W2 ends with one
    fewer. No rank may keep more than p at a time. That is what rank 0 keeps in 1F1B; the others have room.

    Start from 1F1B, where W directly follows I: F0 I0 W0 F1 I1 W1 ... on the last rank. The whole takes 3 m + 2 (p - 1)
    seconds. When does a rank wait there, which W could it do then, and how long can a rank put its W off?

    Page: chapters/09_pipelines_schedules.ipynb#zero-bubble-in-a-row-of-steps
    """
    raise NotImplementedError
