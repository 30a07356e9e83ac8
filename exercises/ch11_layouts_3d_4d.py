"""Chapter 11: layouts in 3D and 4D. Replace each `raise NotImplementedError` by your answer, then run:
pytest exercises/

The chapter's page is chapters/11_layouts_3d_4d.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (15 to 30), 4 repair (15), 5 speed up (20).

A layout says how many ranks each axis of a mesh has: d ranks along the data axis have the same weights and other
samples, t ranks along the tensor axis cut every layer, p ranks along the axis of stages have other layers each, and c
ranks along the context axis cut every sequence. There are d t p c ranks.

The ranks of a mesh are counted as the digits of a number are: the last axis is the innermost one, and its ranks are
neighbours. With the axes dp, pp, tp, in this order, rank (i p + j) t + k is number i along dp, j along pp and k along
tp, each from 0.

Arguments stay as they are, and what is returned is memory of its own.
"""

import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def elements_sent(axis, d, t, p, parameters, B, s, h, L, recompute):
    """Return how many elements a rank sends along one axis in a training step.

    axis        "data", "tensor" or "stages"
    d, t, p     ranks along the data axis, the tensor axis and the axis of stages. p is 1, or at least 3.
    parameters  of the whole model. Each rank has one t p-th of them.
    B           sequences in a step, on all ranks together; d divides B
    s, h        tokens in a sequence, and the model's width: a sequence has activations of s h elements
    L           layers of the whole model; p divides L
    recompute   whether the backward pass does the forward pass of each layer again (full recomputation)

    - Data: the gradients are reduced once a step, by a ring all-reduce.
    - Tensor: each layer has two all-reduces in its forward pass and two in its backward pass, of the activations of all
      sequences that the rank sees. They are rings, too.
    - Stages: a rank that is neither in the first nor in the last stage sends what its stage has computed to the next
      stage, whole, and the gradient of what it got to the stage before. With one stage nobody sends.

    The embedding, and what the loss needs, are left out. A ring all-reduce of n elements on P ranks makes each of them
    send 2 (P - 1) / P n.

    Page: chapters/11_layouts_3d_4d.ipynb#predict-bytes-by-axis
    """
    raise NotImplementedError


def fullest_rank(h, feed_forward, L, t, p, d, sharded):
    """Return the bytes of weights, gradients and optimizer state on the rank that has the most of them.

    h             the model's width. The attention of a layer has four matrices of h x h.
    feed_forward  width inside the feed-forward part of a layer, which has two matrices of h x feed_forward
    L             layers
    t, p, d       ranks along the tensor axis, the axis of stages and the data axis
    sharded       whether weights, gradients and optimizer state are all sharded over the data axis (ZeRO's stage 3)

    A parameter takes 16 bytes: 2 for its weight, 2 for its gradient and 12 for the optimizer. Every matrix is cut
    evenly by the tensor axis. A stage has whole layers, and the stages' numbers of layers differ by one at most.
    Embeddings, biases and activations are left out.

    Try it: h = 20,480, feed_forward = 81,920, 120 layers, t = 8, p = 16, d = 16. In print this shape stands for a model
    of 200 trillion parameters. How many has it? Does a rank with 80 GB hold its part, if nothing is sharded over d?

    Page: chapters/11_layouts_3d_4d.ipynb#what-was-wrong-with-200t
    """
    raise NotImplementedError


def seconds_saved(speeds, units, steps, moving):
    """Return how many seconds are saved if the work is divided anew among uneven ranks. Below 0, if it does not pay.

    speeds   list: the units of work that each rank does in a second
    units    of work in a step, all ranks together. So far every rank has equally many of them.
    steps    that are left to do
    moving   seconds in which the work is moved to other ranks, once, before the first of these steps

    A step takes as long as its slowest rank. After the move all ranks take equally long. A unit can be divided at will.

    Page: chapters/11_layouts_3d_4d.ipynb#when-nodes-are-uneven
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def samples_of_rank(rank, d, p, c, t, batch, length, step):
    """Return (sequences, positions): what a rank reads of the batch of one step, as two lists of numbers.

    rank        from 0 to d p c t - 1. The axes are dp, pp, cp, tp, in this order: tp is the innermost.
    d, p, c, t  ranks along dp, pp, cp and tp
    batch       sequences of a step; d divides it. Step 0 has sequences 0 to batch - 1, step 1 the next ones, ...
    length      tokens of a sequence; c divides it
    step        number of the step, from 0
    sequences   along dp, the batch is cut into blocks of neighbours. Number 0 has the first block.
    positions   along cp, each sequence is cut into blocks of neighbours. Number 0 has the first block.

    Ranks that differ along pp or tp alone work on the same tokens, so they must read the same ones.
    Remove the first line below and fill in the three blanks `___`.

    Page: chapters/11_layouts_3d_4d.ipynb#run-a-mesh-that-trains
    """
    raise NotImplementedError
    replica = ___
    part = ___
    first = step * ___ + replica * (batch // d)
    start = part * (length // c)
    sequences = list(range(first, first + batch // d))
    positions = list(range(start, start + length // c))
    return sequences, positions


# Level 3: write ----------------------------------------------------------------------------------------------------


def group_of(axes, along, rank):
    """Return the ranks of the group of a mesh to which a rank belongs, as a list in ascending order.

    axes   list of pairs (name, size), the outermost axis first: [("dp", 2), ("pp", 2), ("tp", 2)]
    along  list of one or more of these names, in any order. The group has all ranks that differ from `rank` along these
           axes alone, and `rank` itself.
    rank   from 0 to the number of ranks - 1

    Example: with the axes above, the group of rank 5 along ["pp"] is [5, 7], and along ["tp", "dp"] it is [0, 1, 4, 5].

    Every rank of a large mesh asks for its groups, so list them by a rule: no loop over all ranks of the mesh, of which
    there may be 10^12.

    Page: chapters/11_layouts_3d_4d.ipynb#which-axis-where
    """
    raise NotImplementedError


def global_norm(comm, t, p, gradients):
    """Return the norm of the model's gradient, the same number on every rank: each element of it counts once.

    comm       all ranks of a mesh with the axes dp, pp, tp, in this order: tp is the innermost. comm.rank is this
               rank's number and comm.size is d t p.
    t, p       ranks along tp and pp
    gradients  list of pairs (kind, array): the gradients of this rank's parameters, complete: what had to be added up
               over some ranks was added up. Kinds:
               "cut"     each rank along tp has other elements of the parameter
               "copied"  all ranks along tp have the same elements
               "tied"    the embedding, which is also the last layer. Each rank along tp has other elements of it, and
                         the first and the last stage have the same ones. A single stage has it once.
               Ranks along dp have the same gradients. Stages have other parameters, apart from the embedding.

    One comm.Allreduce of a single number, and nothing else is sent. comm.Allreduce(mpi.IN_PLACE, x) replaces an array x
    by the sum of all ranks' x.

    Page: chapters/11_layouts_3d_4d.ipynb#one-norm-over-all-axes
    """
    raise NotImplementedError


def roll_call(orders):
    """Return where each rank waits for ever: a list with a group for each rank, or None for one that gets through.

    orders   orders[r] is the list of the collectives that rank r enters, in this order. A collective is written as its
             group: the tuple of its ranks, in ascending order. r is in each of them, and no group has less than two.

    A collective ends when all ranks of its group have entered it. Until then those that have entered it wait, and enter
    nothing else. The n-th time that one rank enters a group belongs to the n-th time that another rank does.

    Example: [[(0, 1), (0, 2)], [(0, 1)], [(0, 2)]] gives [None, None, None]. Ranks that enter two groups in different
    orders wait for ever: [[(0, 1), (0, 1, 2)], [(0, 1, 2), (0, 1)], [(0, 1, 2)]] gives [(0, 1), (0, 1, 2), (0, 1, 2)].

    Page: chapters/11_layouts_3d_4d.ipynb#the-order-of-groups
    """
    raise NotImplementedError


def plan_layout(N, per_node, layers, heads, batch, parameters, memory, work, reduce, gradients):
    """Return the layout (d, t, p) with the shortest step, or None if no layout is possible.

    N           accelerators; d t p = N
    per_node    accelerators in a node. A tensor group stays inside a node: t divides per_node.
    layers      of the model; p divides them
    heads       of the attention; t divides them
    batch       sequences in a step; d divides them. A replica does batch / d micro-batches of one sequence each.
    parameters  of the model, 16 bytes each: weights, gradients, optimizer. A rank has one t p-th of them.
    memory      bytes of an accelerator. What fills it to the last byte fits.
    work        seconds that one accelerator would need for the forward and backward pass of a sequence
    reduce      seconds that the all-reduces of a sequence take in one layer, if there are many tensor ranks; t ranks
                need (t - 1) / t times as long
    gradients   seconds to reduce the gradients of the whole model, if there are many replicas; d replicas that have one
                t p-th of the model each need (d - 1) / d / (t p) times as long

    - A micro-batch takes each stage work / (t p) for computing, and the all-reduces of its layers / p layers.
    - The pipeline takes so long batch / d + p - 1 times. Sending between stages is left out.
    - Then the gradients are reduced. Nothing overlaps.

    If several layouts take equally long, return any of them.

    Page: chapters/11_layouts_3d_4d.ipynb#plan-for-64-accelerators
    """
    raise NotImplementedError


def new_shares(shares, speeds, most):
    """Return new shares of the work, a list of whole numbers: the step becomes as short as one move can make it.

    shares  list: units of work that each rank has now; whole numbers, perhaps 0
    speeds  list: units that each rank does in a second; whole numbers, at least 1
    most    units that may go to another rank in this move. A limit keeps a wrong measurement from doing much harm.

    All shares together stay as many. Rank r takes shares[r] / speeds[r] seconds, and the step as long as its slowest
    rank. Of all shares that can be reached and make the step shortest, return some for which the fewest units move.

    Example: [4, 4, 4] with the speeds [1, 2, 2] takes 4 seconds. A limit of 1 gives [3, 5, 4] or [3, 4, 5], 3 seconds.
    Without a limit two units move: [2, 5, 5] takes 2.5 seconds.

    Page: chapters/11_layouts_3d_4d.ipynb#when-nodes-are-uneven
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def best_layout(N, batch, memory, held, seconds):
    """Return the layout (d, t, p) with the shortest step, or None if none fits.

    N        accelerators; d t p = N. Any layout of whole numbers is allowed, as long as d divides the batch.
    batch    sequences in a step
    memory   bytes of an accelerator. What fills it to the last byte fits.
    held     held(d, t, p) returns the bytes that a rank needs
    seconds  seconds(d, t, p) returns how long a step takes

    It is a search with four mistakes, most of which stand in a printed one. Remove the first line and repair it.

    Page: chapters/11_layouts_3d_4d.ipynb#plan-for-64-accelerators
    """
    raise NotImplementedError
    best, best_cost = None, math.inf
    for t in (1, 2, 4, 8):
        for p in range(1, N // t + 1):
            d = N // (t * p)
            cost = seconds(d, t, p)
            if cost < best_cost:
                best = d, t, p
    return best


# Level 5: speed up -------------------------------------------------------------------------------------------------


def few_evaluations(layouts, bound, seconds):
    """Return the layout with the shortest step, and evaluate few of them. None if there are no layouts.

    layouts  list of tuples (d, t, p), in any order; each once
    bound    bound(layout) returns quickly a number of seconds that the step takes at least
    seconds  seconds(layout) returns how long the step takes. It simulates the step, and is slow.

    Call bound once for each layout. Call seconds only for layouts that no search could leave out: as long as the bound
    of a layout is below the shortest step there is, it may be the best one.

    Page: chapters/11_layouts_3d_4d.ipynb#plan-for-64-accelerators
    """
    raise NotImplementedError
