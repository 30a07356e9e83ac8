"""Chapter 10: ZeRO and fully sharded data parallelism. Replace each `raise NotImplementedError` by your answer, then
run: pytest exercises/

The chapter's page is chapters/10_zero.ipynb. The exercises come in five levels; do them in order or not, each stands
alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (15 to 30), 4 repair (15), 5 speed up (20).

A step of training moves weights, gradients and the optimizer's state. Stage 0 is plain data parallelism: all three are
whole on every rank. Stage 1 cuts the optimizer's state into shards, one a rank; stage 2 the gradients, too; stage 3 all
three. A unit is some of the model's parameters that are gathered and freed together.

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Reduce_scatter_block(x, part)` adds up the ranks' arrays x of P n numbers, and gives rank r the
numbers r n to r n + n - 1 of the sum, in its array part. `comm.Allgather(part, x)` puts the ranks' parts of n numbers
one behind the other into x, on every rank. `comm.Allreduce(mpi.IN_PLACE, x)` replaces x by the sum of all ranks' x.

Arrays are of float64. Arguments stay as they are, and what is returned is memory of its own.
"""

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def memory_by_hand(parameters, P, stage, weights, gradients, optimizer):
    """Return the bytes of weights, gradients and optimizer state that each of P ranks holds.

    parameters  how many the model has; a multiple of P, so all shards are equal
    P           ranks
    stage       0, 1, 2 or 3
    weights     bytes of a parameter's weight
    gradients   bytes of its gradient
    optimizer   bytes of what the optimizer keeps for it

    Activations, buckets and gathered units come on top; leave them out.

    Try it: 70 billion parameters on 16 ranks with stage 2 and Adam, all numbers of 4 bytes. Adam keeps two. A printed
    answer is 20.8 GB. Can it be, if the weights alone are 280 GB?

    Page: chapters/10_zero.ipynb#predict-memory-by-hand
    """
    raise NotImplementedError


def bytes_of_a_step(parameters, P, stage, K, itemsize):
    """Return the bytes that one rank sends in a training step with K micro-batches.

    parameters  how many the model has; a multiple of P
    P           ranks; perhaps one
    stage       0, 1, 2 or 3
    K           micro-batches whose gradients are added up before the optimizer's step
    itemsize    bytes of a number that is sent: of a weight and of a gradient

    All collectives are rings, and nobody sends anything twice that the others still have:

    - Stages 0 and 1 add the micro-batches' gradients up in an array as long as the model, and reduce it once.
    - Stage 2 has room for the gradients of its own shard only, and for a bucket on its way there.
    - Stage 3 has room for its own shards, and for a unit at a time. What is gathered is freed after the unit's forward
      pass, and again after its backward pass.

    Try it: 7 billion parameters, 64 ranks, 2 bytes. "Stage 2 sends as much as plain data parallelism": for which K?

    Page: chapters/10_zero.ipynb#micro-batches-who-waits-for-whom
    """
    raise NotImplementedError


def which_stage(parameters, P, tokens, flops, bandwidth, memory, activations):
    """Return the stage, 0 to 3, with which a training step is shortest. None if no stage fits into memory.

    parameters   how many the model has; a multiple of P
    P            ranks
    tokens       of one rank, in one step; there is one micro-batch
    flops        products and sums that a rank computes in a second. The forward pass takes 2 for each parameter and
                 token, the backward pass 4.
    bandwidth    bytes that a rank sends in a second
    memory       bytes of a rank
    activations  bytes that a rank needs for them, at any stage

    Weights and gradients are held and sent in 2 bytes a number; the optimizer keeps 12 bytes a parameter. A ring
    gathers or scatters (P - 1) / P of the model's weights or gradients from each rank, which takes y seconds, say:

    - Stage 0 sends for 2 y seconds during the backward pass.
    - Stages 1 and 2 send for y seconds during the backward pass, and for y seconds after the optimizer's step.
    - Stage 3 sends for y seconds during the forward pass, and for 2 y seconds during the backward pass.

    A pass takes as long as the longer of its computing and its sending; after the optimizer's step nothing computes.
    Leave the optimizer's own time out. Of stages that take equally long return the lowest. What fills the memory to the
    last byte fits.

    "Below 10 billion parameters stage 2, above that stage 3" is a rule that one reads. Where are the ranks in it, where
    is the network?

    Page: chapters/10_zero.ipynb#which-stage
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def sharded_adam(comm, weights, gradient, m, v, t, rate):
    """Do step t of Adam with its state cut among the ranks: ZeRO's stage 1. Return (weights, m, v).

    weights   [N], the same on every rank: all parameters of the model in a row
    gradient  [N]: of the mean loss over this rank's samples. All ranks have equally many samples.
    m, v      [n], with n = N / P, rounded up: rank r's part of Adam's two moments, those of weights r n to r n + n - 1.
              Behind the last of the N weights there are zeros.
    t         number of the step, from 1
    rate      learning rate
    returns   the new weights [N], the same on every rank, and the new m and v [n] of this rank

    For each weight, with the gradient g of the mean loss over all ranks' samples, Adam does this:

        m = 0.9 m + 0.1 g
        v = 0.999 v + 0.001 g g
        weight = weight - rate (m / (1 - 0.9^t)) / (sqrt(v / (1 - 0.999^t)) + 1e-8)

    One Reduce_scatter_block and one Allgather, of P n numbers each, and nothing else is sent.
    Remove the first line below and fill in the five blanks `___`.

    Page: chapters/10_zero.ipynb#stage-1-the-optimizers-state
    """
    raise NotImplementedError
    P, N, n = comm.size, len(weights), len(m)
    padded = np.zeros((2, P * n))
    padded[:, :N] = weights, gradient
    g, after = np.empty(n), np.empty(P * n)
    comm.Reduce_scatter_block(___, g)
    g = ___
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    mine = ___
    mine = mine - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    comm.Allgather(___, after)
    return ___, m, v


# Level 3: write ----------------------------------------------------------------------------------------------------


def rows_of_rank(shapes, P, rank):
    """Return (pieces, length): which rows of each parameter a rank has, where they lie, and how long its buffer is.

    shapes   list of tuples: the shapes of the parameters, each with one dimension or more
    P        ranks, perhaps more than a parameter has rows
    rank     from 0 to P - 1
    pieces   list of (first, rows, offset), one for each parameter. The parameter is cut along its first dimension into
             blocks of as many rows as rank 0 has, its number of rows / P, rounded up; rank r has block r. The last
             block may be shorter, and there may be no rows left for some ranks. first is the number of the rank's
             first row, or the parameter's number of rows if none are left for it; rows is how many it has.
             offset is where its elements begin in the rank's buffer: there its pieces of all parameters lie one behind
             the other, without gaps.
    length   elements of the buffer. It is as long on every rank, so that it can be gathered: as long as the pieces of
             the rank that has most.

    Example: a parameter of 5 x 2 and one of 3, on 4 ranks. Blocks have 2 rows, and 1. Rank 2 has
    [(4, 1, 0), (2, 1, 2)], rank 3 has [(5, 0, 0), (3, 0, 0)], and the length is 5.

    Page: chapters/10_zero.ipynb#which-elements-are-whose
    """
    raise NotImplementedError


def reduce_in_buckets(comm, backward, buckets):
    """Go backward, and keep of the gradients no more than this rank's shard: ZeRO's stage 2. Return a list of arrays.

    backward  a function: backward(comm) computes for a while, and returns the gradient of the next parameter, a flat
              array. The first call gives that of the first parameter of bucket 0.
    buckets   list of lists: for each bucket how many elements its parameters have, in the order in which their
              gradients come
    returns   for each bucket an array [n], with n = the bucket's elements / P, rounded up: elements r n to r n + n - 1
              of the bucket's gradients, one behind the other, as the mean over the ranks; zeros behind the last one

    A bucket is reduced as soon as it is full, by one Reduce_scatter_block of P n numbers, before backward is called
    again. By then its gradients are gone: nothing may hold them any more, no list, and no name (`del` drops one). So
    there are never more whole gradients than those of one bucket. Nothing else is sent.

    Page: chapters/10_zero.ipynb#stage-2-gradients-too
    """
    raise NotImplementedError


def gather_and_free(uses):
    """Return the order of a training step with stage 3: a list of strings.

    uses  list of numbers of units: the order in which the forward pass uses them. The backward pass uses them in
          reverse. A unit may be used several times, as tied weights are: [0, 1, 2, 0].

    Actions: "gather 1"    gathers the weights of unit 1 from all ranks
             "free 1"      frees them again
             "forward 1"   a use in the forward pass; the unit must be there, gathered
             "backward 1"  a use in the backward pass; the unit must be there, gathered
             "reduce 1"    reduces and scatters the unit's gradients, which its backward uses have added up

    There is room for one gathered unit at a time, and in the end none is left. Every unit is reduced once, directly
    after its last backward use; no more than its "free" may come between. Of all such orders return one with the fewest
    gathers.

    Page: chapters/10_zero.ipynb#stage-3-weights-too
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def clip_by_global_norm(comm, gradient, real, replicas, limit):
    """Clip the model's gradient, of which every rank has a shard. Return (norm, clipped).

    gradient  [n]: this rank's shard, as long on every rank
    real      how many elements of it belong to parameters, perhaps none: the first ones. Behind them is padding, in
              which anything may stand, NaN, too.
    replicas  how often the model is there (hybrid sharding). P / replicas ranks share a copy: ranks r,
              r + P / replicas, r + 2 P / replicas, ... have the same shard with the same numbers.
    limit     the longest that the gradient may be
    norm      a number, the same on every rank: the root of the sum of squares of the model's gradient. Each of its
              elements counts once.
    clipped   [n]: the rank's shard of the model's gradient, scaled to the norm `limit` if it is longer, and else as it
              is; 0 in the padding

    It raises no error, and is wrong in four places. Remove the first line and repair it. One Allreduce of a single
    number, and nothing else is sent.

    Page: chapters/10_zero.ipynb#clipping-needs-one-more-sum
    """
    raise NotImplementedError
    squares = (gradient * gradient).sum()
    norm = np.array([np.sqrt(squares)])
    comm.Allreduce(mpi.IN_PLACE, norm)
    return norm.item(), gradient * (limit / norm.item())


# Level 5: speed up -------------------------------------------------------------------------------------------------


def prefetch_units(comm, shards, compute, limit):
    """Run a forward pass with stage 3 that gathers units while others compute. Return a list: what compute returned.

    shards   list of arrays: this rank's shard of each unit's weights. A unit's shards are as long on every rank.
    compute  a function: compute(comm, i, weights) does the forward pass of unit i, which takes a while. weights is an
             array with all ranks' shards of the unit, that of rank 0 first. Call it for units 0, 1, 2, ... in turn.
    limit    at least 1: whole units that there may be at a time, whenever compute is called. One that is being gathered
             counts, and so does the one that computes; one that has computed counts as long as something holds its
             weights. Its array may be used for another unit.
    returns  list of what compute has returned for each unit

    request = comm.Iallgather(part, x) begins to gather, and returns at once; request.Wait() waits until all is there.
    Until then part and x belong to MPI. Nothing else is sent, and units are gathered in order.

    With room for two units or more it may take no longer than if each gather begins as soon as the one before it is
    done and there are fewer than two other units. (Gathers that are under way at once share the link, so each takes
    longer.) With room for one, gathers and computing follow each other.

    Page: chapters/10_zero_fsdp.ipynb#predict-what-prefetch-hides
    """
    raise NotImplementedError


def which_to_keep(gather, backward, size, room):
    """Return the list of the units to keep after the forward pass, so that the backward pass waits as little as it can.

    gather    list: seconds to gather each unit, in the order of the forward pass
    backward  list: seconds of each unit's backward pass
    size      list: bytes of each whole unit
    room      bytes that there are for units that are kept. Together they must fit.

    The backward pass goes from the last unit to the first. A unit that is kept waits for nothing. The others are freed
    after the forward pass, and gathered again, one ahead: unit i while unit i + 1 computes. So unit i waits for what
    is left of its gather when unit i + 1 is done, and the last unit for all of its own.

    All are whole numbers. If there are several such lists, each will do; the order in a list does not matter. There are
    too many units to try all choices.

    Page: chapters/10_zero_fsdp.ipynb#predict-what-prefetch-hides
    """
    raise NotImplementedError


def offload_schedule(backward, down, step, up, room):
    """Return when everything begins in a step of ZeRO-Offload: a list of (backward, down, step, up), one a piece.

    The model has pieces, numbered in the order in which the backward pass reaches them. For each, four things are done
    one after the other, each for as many microseconds as its list says. All are whole numbers:

    backward  the device makes the piece's gradients
    down      they are copied to the host
    step      the host's processor does the optimizer's step
    up        the new weights are copied to the device

    The device does one backward pass at a time, in the order of the pieces. There is one copy down at a time, one step,
    and one copy up; but all four kinds may go on at once. The device has room for the gradients of `room` pieces: those
    of a piece take their place from the beginning of its backward pass to the end of its copy down.

    The returned times count from 0. The last copy up must end no later than if everything begins as soon as it can,
    with the pieces in order.

    Page: chapters/10_zero.ipynb#further-down-other-memory
    """
    raise NotImplementedError
