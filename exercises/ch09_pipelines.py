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
`mpi.waitall(requests)` waits for what Isend and Irecv have begun. A message of n bytes takes alpha + n beta seconds.
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
    """
    raise NotImplementedError


def least_micro_batches(p, percent):
    """Return the least number of micro-batches with which a 1F1B pipeline is idle for at most so many percent.

    p        ranks, all with the same amount of work
    percent  whole number from 1 to 99, of all ranks' time from the first pass of a step to the last

    "Take at least 4 p micro-batches, and it is less than 20 %" one reads. That is true. Is it the least?
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
    has begun counts.

    Try it: 64 GB on 4 ranks in 8 micro-batches are 16 GB a rank with GPipe. How many are they in 16 micro-batches, and
    how many with 1F1B?
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

    p ranks, at least 4; m micro-batches, more than 2 p; all stages have the same costs. The backward pass takes twice
    as long as the forward pass, and each of its parts a half of it. Bubble: idle time of all ranks in a step, or,
    without steps, in a long run. Memory for activations: that of the rank that needs most.

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

    "PP": every rank has layers / P whole layers that follow each other, in a 1F1B pipeline. Its messages travel while
    the ranks compute, and cost no time. The bytes asked for are those of a rank in the middle.

    Try it: 80 layers on 8 ranks, 64 sequences of 4096 tokens, h = 8192, 32 micro-batches, 250 seconds. TP sends 280
    times as many bytes. Which is quicker over links of 450 GB/s inside a machine, and over 25 GB/s between machines?
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def stage_order(p, m, stage):
    """Return the order in which a stage works in a 1F1B pipeline: a list of strings such as "F0" and "B0".

    p      stages
    m      micro-batches; there may be fewer than p
    stage  from 0 to p - 1

    In the beginning there is nothing to do but forward passes. The last stage can do the backward pass of micro-batch 0
    directly after its forward pass; the stage before has time for one more forward pass meanwhile, and so on. From then
    on a stage takes turns, one forward and one backward pass. In the end the backward passes that are left follow. All
    go in the order of the micro-batches.

    Example: stage 1 of 3 with 4 micro-batches does F0 F1 B0 F2 B1 F3 B2 B3. Draw stages 0 and 2.
    Remove the first line below and fill in the three blanks `___`.
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


# Level 4: repair ---------------------------------------------------------------------------------------------------


# Level 5: speed up -------------------------------------------------------------------------------------------------
