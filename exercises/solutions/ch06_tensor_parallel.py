"""Solutions of chapter 6. Each docstring says why it works; it is shown once the exercise is solved."""

import math

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bytes_of_a_layer(P, b, s, h, itemsize):
    """Attention ends with one sum over the ranks, and so does the feed-forward network: two all-reduces forward. Both
    begin by using one tensor on all ranks, and the gradient of copies is a sum: two all-reduces backward. Each is of
    all activations between the layers, b s h numbers, and a ring sends all blocks but one, twice.

    No number of weights is in it. So twice the width h gives twice the bytes and four times the products: wide layers
    suit tensor parallelism. In the example each rank sends 470 MB a layer, and the same after h is doubled and s
    halved. Follow-up: what would data parallelism send for this layer, once a step, and from how many tokens on is that
    less?
    """
    return 4 * 2 * (P - 1) * b * s * h * itemsize / P


def where_the_all_reduces_go():
    """Two rules decide all of them. What is used on P ranks has a sum as its gradient: A, J, the first half of C, and
    for weights L. A sum has a copy as its gradient, for which nothing is sent: B, H, K, the second half of C.

    E, I and G are the ones that are often believed to need messages. After the all-reduce every rank has all numbers of
    every token, and a norm, dropout with the same mask, or a residual addition works on these alone; heads do not look
    at each other. D pays an all-gather forward for a whole output, and its gradient arrives whole, so each rank takes
    its block for nothing; dX must be summed as in A. F shows why columns come first: the GELU needs the sum, so there
    is one all-reduce in the middle forward, and one in the middle backward, and the pair's ends are cut, so the layers
    around it would have to send as well. K sends three numbers a token, however large the vocabulary is. Follow-up:
    with sequence parallelism, which two collectives take the place of each all-reduce in C?
    """
    alike = {"nothing": "EGI", "forward": "BHK", "backward": "AJL", "both": "CF", "gather first": "D"}
    return {letter: name for name, letters in alike.items() for letter in letters}


def which_way_to_cut():
    """The first matrix of a pair is cut by columns and the second one by rows; then what the first one puts out is what
    the second one needs, and one sum is enough. In the feed-forward network U and G are both first (their outputs are
    multiplied element by element, so the same columns of both must be on one rank), and D is second. In attention those
    that make queries, keys and values are first, by whole heads, and the one that mixes the heads is second.

    A bias goes with its outputs: that of U is cut with U's columns, that of D is added once, after the sum, so every
    rank has it whole. The embedding is a product with rows that hold a single 1: cut by rows, it has one sum. Its
    mirror image, the last layer, is cut by columns. A single head of keys cannot be cut, and is copied; its gradient is
    added up over the copies. Follow-up: what would a cut of D by columns cost?
    """
    return {**dict.fromkeys("ABDEHK", "columns"), **dict.fromkeys("CFJ", "rows"), **dict.fromkeys("GIL", "whole")}


# Level 2: fill in --------------------------------------------------------------------------------------------------


def column_linear(comm, x, weight, bias, dy):
    """Every rank has used all of x, so what each knows of the gradient of x is one term of a sum: dY A^T is the sum
    over the ranks of dY_r A_r^T. Its own columns of Y depend on nobody else, and so do the gradients of its weights.

    Without the all-reduce the forward pass is still right, and so are this layer's own gradients. What is wrong is all
    that lies before it, differently on each rank. That is why gradients are compared, and not only losses. The product
    for dweight does not need dx: on a network that moves data alone, begin the all-reduce, multiply, and then wait.
    Follow-up: which all-reduce of the row-parallel layer can be hidden in the same way?
    """
    y = x @ weight + bias
    dx = dy @ weight.T
    comm.Allreduce(mpi.IN_PLACE, dx)
    return y, dx, x.T @ dy, dy.sum(axis=0)


def row_linear(comm, x, weight, bias, dy):
    """The mirror image: each rank has one term of Y, so Y is a sum; and its gradient is whole on every rank, so each
    can compute the gradients of its own columns of X and rows of A without a message. The bias is not cut. It is added
    to the sum, once; its gradient is the same on every rank, because dY is, and must not be added up.

    One all-reduce forward here and one backward in the layer before is the whole price of a feed-forward network on P
    ranks. Adding bias / P on each rank before the sum would be right, too, up to rounding. Follow-up: why do frameworks
    that cut the tokens between the layers have to add up the gradient of this bias after all?
    """
    y = x @ weight
    comm.Allreduce(mpi.IN_PLACE, y)
    return y + bias, dy @ weight.T, x.T @ dy, dy.sum(axis=0)


# Level 3: write ----------------------------------------------------------------------------------------------------


def heads_of_rank(heads, groups, ranks, rank):
    """Groups come first: a group's keys and values should be on one rank, because whoever has a head of queries needs
    them. If the ranks divide the groups, that is possible. If there are more ranks than groups, some ranks have to hold
    the same keys and values, and the only fair way gives each group equally many ranks and each rank equally many
    heads: the groups divide the ranks, and the ranks divide the heads.

    The copies cost memory for weights and, when text is generated, for the cache of keys and values. In training each
    copy sees the gradient of its own heads; they are added up among the copies, once. Follow-up: 64 heads in 8 groups;
    which degrees are possible, and which need copies?
    """
    if heads % ranks or (groups % ranks and ranks % groups):
        return None
    each = heads // ranks
    own = groups // ranks or 1
    first = rank * groups // ranks
    return [rank * each + i for i in range(each)], [first + i for i in range(own)], max(ranks // groups, 1)


def sharded_cross_entropy(comm, z, y, first, count):
    """Of a token's logits the loss needs three numbers: the maximum, so that no exp overflows; the sum of the powers;
    and the target's logit, which one rank has. Each is one all-reduce of n numbers, and the last two can travel
    together. Then every rank can compute the softmax of its own columns: no message is needed for the gradient.

    All logits of 4,096 tokens and 128,000 words are 2 GB in float32 on every rank; these three numbers are 48 kB. A
    softmax over the own columns divides by a part of the sum, padding adds exp(0) for each of its columns, and both
    train without an error. The maximum must be common: a sum of powers that were scaled by different maxima has no
    meaning. Follow-up: combine maximum and sum into one number a rank, log of the sum of exp, and find the second
    solution.
    """
    real = z[:, :count]
    m = real.max(axis=1, initial=-np.inf)
    comm.Allreduce(mpi.IN_PLACE, m, mpi.MAX)
    powers = np.exp(real - m[:, None])
    rows = np.flatnonzero((y >= first) & (y < first + count))
    both = np.zeros((2, len(y)))
    both[0] = powers.sum(axis=1)
    both[1, rows] = real[rows, y[rows] - first] - m[rows]
    comm.Allreduce(mpi.IN_PLACE, both)
    counts = y >= 0
    dz = np.zeros(z.shape)
    dz[:, :count] = powers / both[0][:, None] * counts[:, None]
    dz[rows, y[rows] - first] -= 1
    return float(((np.log(both[0]) - both[1]) * counts).sum()), dz


def gradient_norm(comm, gradients, cut):
    """Squares can be added over the ranks, and norms cannot. So each rank adds the squares of its parts of what is cut,
    one number is all-reduced, and then the squares of what everybody has whole are added, once, without a message.

    Who all-reduces everything counts each norm's weight P times: a little too large a norm, so gradients are clipped
    too much, and differently at each degree. Who reduces nothing has another norm on each rank; then the ranks clip by
    different factors, and parameters that should be equal drift apart. Follow-up: with data parallelism beside it, over
    which group is this sum, and what of a pipeline's stages?
    """
    squares = [
        sum((float((g * g).sum()) for g, each in zip(gradients, cut) if each == kind), 0.0) for kind in (True, False)
    ]
    total = np.array(squares[:1])
    comm.Allreduce(mpi.IN_PLACE, total)
    return math.sqrt(total.item() + squares[1])


# Level 4: repair ---------------------------------------------------------------------------------------------------


def bias_once(comm, x, A, a, B, b, dz):
    """Ask of each line: is this whole on every rank, or a part of a sum? y is this rank's columns. y B is a part of a
    sum; b is not, and added before the sum it counts P times. dz is whole, so db is right without a message, and an
    all-reduce makes it P times as large. What the last line computes is a part of a sum again, since every rank has
    used x: its all-reduce was missing.

    Of the three only the first changes the loss at once. The second one makes plain SGD move the bias P times as far.
    Adam divides by the gradient's size, so a constant factor all but cancels there. Follow-up: which of the three does
    a comparison of losses in the first step find, and which in the second?
    """
    y = np.tanh(x @ A + a)
    z = y @ B
    comm.Allreduce(mpi.IN_PLACE, z)
    dx = ((dz @ B.T) * (1 - y * y)) @ A.T
    comm.Allreduce(mpi.IN_PLACE, dx)
    return z + b, dx, dz.sum(axis=0)


# Level 5: speed up -------------------------------------------------------------------------------------------------


def tensor_degree(devices, sequences, heads, computing, allreduce, cut, whole, memory):
    """There are few degrees, so compute the step for each that is possible. With P ranks a group takes computing / P
    and four all-reduces for a sequence, and has ceil(sequences / groups) of them.

    With many sequences for each device the smallest P that fits is the best, since data parallelism has no all-reduce
    inside the layers: 1 / P of the time on P times as many devices is no gain, and the messages are lost. With fewer
    sequences than devices it is the other way round: devices that would have nothing to do can share a sequence, until
    the all-reduces take more than the products save. Both rules are right at one end. Left out here is the all-reduce
    of gradients between the replicas, which larger P makes smaller. Follow-up: how does a pipeline change the picture?
    """
    times = []
    for P in range(devices, 0, -1):
        if devices % P == 0 and heads % P == 0 and cut <= P * (memory - whole):
            rounds = -(-sequences // (devices // P))
            times.append((rounds * (computing / P + 4 * allreduce[P]), P))
    return min(times)[1] if times else None


def gather_while_multiplying(comm, x, A, multiply):
    """A ring that never stands still: pass on the block that you have, begin to receive the next one, and multiply the
    block meanwhile. Reading an array that is on its way out is allowed; only writing is not. After P - 1 exchanges
    every block has been here, and the last product has nothing left to hide.

    Each of the P - 1 steps takes the longer of message and product. If one is much longer than the other there is
    little to hide; at t = c the gain is largest, nearly a factor of 2 for many ranks. PyTorch calls this async tensor
    parallelism. It needs a network that moves data while the device computes, and blocks that are large enough to be
    multiplied efficiently. Follow-up: draw the mirror image, products whose results are reduce-scattered on the way.
    """
    P, rank = comm.size, comm.rank
    n, block = len(x), x
    result = np.empty((P * n, A.shape[1]))
    for step in range(P):
        coming, requests = np.empty_like(x), []
        if step < P - 1:
            requests = [comm.Isend(block, dest=(rank + 1) % P), comm.Irecv(coming, source=(rank - 1) % P)]
        owner = (rank - step) % P
        result[owner * n : owner * n + n] = multiply(comm, block, A)
        mpi.waitall(requests)
        block = coming
    return result
