"""Chapter 6: tensor parallelism. Replace each `raise NotImplementedError` by your answer, then run: pytest exercises/

The chapter's page is chapters/06_tensor_parallel.ipynb. The exercises come in five levels; do them in order or not,
each stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (15 to 30), 4 repair (15), 5 speed
up (20).

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Allreduce(mpi.IN_PLACE, x)` replaces the array x by the sum of all ranks' x, element by element;
`comm.Allreduce(mpi.IN_PLACE, x, mpi.MAX)` by the largest. The array must lie in memory without gaps.

Matrices are written as on the page: a layer computes X A, with a row of X for each token and a column of A for each
output. Arrays are of float64. Arguments stay as they are, and what is returned is memory of its own.
"""

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bytes_of_a_layer(P, b, s, h, itemsize):
    """Return the bytes that one rank sends for one transformer layer in a training step, forward and backward.

    P         ranks that share the layer; perhaps one
    b, s      sequences, and tokens of each
    h         width of the layer: numbers that stand for a token between the layers
    itemsize  bytes of a number that is sent

    The layer is that of the page: attention cut by heads, and a feed-forward network of 4 h units, whose first matrix
    is cut by columns and whose second one is cut by rows. All-reduces are rings. Norms and biases are whole on every
    rank, nothing is recomputed, and the weights' gradients go nowhere.

    Try it: 8 ranks, one sequence of 4096 tokens, h = 8192, 2 bytes. Now double h and halve s.

    Page: chapters/06_tensor_parallel.ipynb#predict-what-it-sends
    """
    raise NotImplementedError


def where_the_all_reduces_go():
    """Return a dictionary from the letter of each situation to the name of what the ranks have to send there.

    Names: "nothing"       no messages, neither forward nor backward
           "forward"       an all-reduce in the forward pass, and nothing backward
           "backward"      nothing forward, and an all-reduce in the backward pass
           "both"          an all-reduce in the forward pass, and one in the backward pass
           "gather first"  an all-gather forward, and an all-reduce backward

    "Whole" means that every rank has all of it, the same numbers. Before the backward pass of a piece, its output's
    gradient is there in the same form as the output: whole, or cut in the same way. Afterwards each rank needs the
    gradient of the piece's input in the form of the input, and the gradients of its own weights.

    A   A linear layer cut by columns. Its input is whole; its output may stay cut.
    B   A linear layer cut by rows. Its input is cut to match; its output is to be whole.
    C   A layer cut by columns, a GELU, a layer cut by rows. Input and output are whole.
    D   A layer cut by columns whose output is to be whole. Its input is whole, too.
    E   LayerNorm after a feed-forward network and its residual addition. Input and output are whole.
    F   A layer cut by rows, a GELU, a layer cut by columns. The input is cut to match; the output may stay cut.
    G   Softmax of the scores, and its product with the values, for this rank's own heads.
    H   An embedding of which each rank has the rows of some tokens. The numbers of all tokens are known everywhere, and
        the vectors are to be whole.
    I   Dropout between the layers, on something whole.
    J   The last layer, cut so that each rank has the logits of some tokens of the vocabulary. Its input is whole; the
        logits stay cut.
    K   The cross entropy of such logits. Each rank needs the loss, and the gradient of its own logits.
    L   Weights for keys and values of which two ranks have copies, each for queries of its own. The copies have to
        stay equal. Look at the gradient of these weights, between these two ranks.

    Page: chapters/06_tensor_parallel.ipynb#attention-by-heads
    """
    raise NotImplementedError


def which_way_to_cut():
    """Return a dictionary from the letter of each tensor to "columns", "rows" or "whole": how 8 ranks have it.

    A tensor of n x k is a matrix A in X A: n inputs, k outputs. A bias has a column for each output. "Whole" means
    that every rank has all of it. Cut what can be cut without further messages: a layer has one all-reduce after
    attention and one after the feed-forward network in the forward pass, and as many in the backward pass.

    The model has width 4096, 32 heads of width 128 and 8 groups of keys and values; the feed-forward network has 14336
    units. Its output is (silu(X U) * (X G)) D, a product element by element in the parentheses.

    A   U, 4096 x 14336
    B   G, 4096 x 14336
    C   D, 14336 x 4096
    D   the matrix that makes the queries, 4096 x 4096
    E   the matrix that makes the keys, 4096 x 1024
    F   the matrix after attention, 4096 x 4096, which mixes what all heads have found
    G   the weight of a norm, 4096 numbers
    H   a bias of U, 14336 numbers
    I   a bias of D, 4096 numbers
    J   the embedding, 128256 x 4096, as a matrix that is multiplied by rows with a single 1; the vectors are added up
    K   the last layer, 4096 x 128256; the loss is computed from logits that stay cut
    L   in another model, with a single head of keys and 32 heads of queries: the matrix that makes the keys, 4096 x 128

    Page: chapters/06_tensor_parallel.ipynb#scale-how-many-ranks
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def column_linear(comm, x, weight, bias, dy):
    """Run a column-parallel linear layer forward and backward, without autograd. Return (y, dx, dweight, dbias).

    x        [n, k], the same on every rank: the input of n tokens
    weight   [k, own]: this rank's columns of the matrix. Ranks may have different numbers of them.
    bias     [own]: of this rank's outputs
    dy       [n, own]: the gradient of the loss for this rank's outputs
    y        [n, own]: this rank's outputs
    dx       [n, k]: the gradient for x, the same on every rank
    dweight, dbias  the gradients for this rank's weight and bias, of their shapes

    One all-reduce, of n k numbers, and nothing else is sent.
    Remove the first line below and fill in the four blanks `___`.

    Page: chapters/06_tensor_parallel.ipynb#the-feed-forward-network-one-sum-each-way
    """
    raise NotImplementedError
    y = ___
    shared = ___
    comm.Allreduce(mpi.IN_PLACE, shared)
    return y, shared, ___, ___


def row_linear(comm, x, weight, bias, dy):
    """Run a row-parallel linear layer forward and backward, without autograd. Return (y, dx, dweight, dbias).

    x        [n, own]: this rank's columns of the input of n tokens. Ranks may have different numbers of them.
    weight   [own, k]: the matching rows of the matrix
    bias     [k], the same on every rank
    dy       [n, k], the same on every rank: the gradient of the loss for y
    y        [n, k]: the output, the same on every rank
    dx       [n, own]: the gradient for this rank's x
    dweight, dbias  the gradients for this rank's weight and for the bias, of their shapes

    One all-reduce, of n k numbers, and nothing else is sent.
    Remove the first line below and fill in the five blanks `___`.

    Page: chapters/06_tensor_parallel.ipynb#the-feed-forward-network-one-sum-each-way
    """
    raise NotImplementedError
    shared = ___
    comm.Allreduce(mpi.IN_PLACE, shared)
    return ___, ___, ___, ___


# Level 3: write ----------------------------------------------------------------------------------------------------


def heads_of_rank(heads, groups, ranks, rank):
    """Return (queries, own, copies): which heads of attention a rank has. None if the degree is impossible.

    heads    heads of queries, a multiple of groups. Head i looks at keys and values of group i // (heads // groups).
    groups   groups of keys and values
    ranks    the tensor-parallel degree
    rank     from 0 to ranks - 1
    queries  list: numbers of the rank's heads of queries. All ranks have equally many, in order: rank 0 the first ones.
    own      list: numbers of the groups whose keys and values these heads need
    copies   how many ranks have the same groups

    There are two ways. Either every group is on one rank, and all ranks have equally many groups. Or there are fewer
    groups than ranks: then every rank has one group, the heads of a group are shared equally by several ranks, and all
    groups by equally many. Any other degree is impossible: return None, on every rank.

    Example: 8 heads in 2 groups. On 4 ranks rank 1 has heads [2, 3] of group [0], of which there are 2 copies.
    On 3 ranks it is impossible.

    Page: chapters/06_tensor_parallel.ipynb#attention-by-heads
    """
    raise NotImplementedError


def sharded_cross_entropy(comm, z, y, first, count):
    """Return (loss, dz): the cross entropy of logits that are cut along the vocabulary, and this rank's gradient.

    z        [n, own]: this rank's logits of n tokens, which may be as large as 1000 or as small as -1000
    y        [n] whole numbers, the same on every rank: the target of each token, its number in the vocabulary; -1 means
             that this token does not count
    first    the number of the token of the vocabulary that z's first column belongs to
    count    how many columns of z are tokens of the vocabulary: first, first + 1, ... The others are padding, to be
             left out of everything; count may even be 0. Every target is in some rank's columns.
    loss     a number, the same on every rank: the sum of log(sum of exp(z)) - z[target] over all tokens that count.
             The inner sum is over the whole vocabulary.
    dz       [n, own]: the gradient of loss for this rank's logits; 0 in columns of padding

    All logits together do not fit into a rank's memory. Send no more than three all-reduces of n numbers would, or one
    of 3 n numbers; capital letters, collective calls only.

    Page: chapters/06_tensor_parallel.ipynb#a-vocabulary-in-parts
    """
    raise NotImplementedError


def gradient_norm(comm, gradients, cut):
    """Return the norm of the whole model's gradient, the same number on every rank. It is what clipping compares.

    gradients  list of arrays of one or two dimensions: the gradients of this rank's parameters. Of those that are cut
               the ranks' parts may differ in size.
    cut        list of as many bools, the same on every rank. True: every rank has a part of this parameter of its own.
               False: every rank has all of it (a norm's weight, say), and its gradient is the same on all of them.
    returns    the root of the sum of squares of all numbers of the model's gradient. Each counts once.

    One all-reduce of a single number, and nothing else is sent.

    Page: chapters/06_tensor_parallel.ipynb#pitfalls
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def bias_once(comm, x, A, a, B, b, dz):
    """Run a feed-forward network forward and backward. Return (z, dx, db).

    x      [n, h], the same on every rank
    A, a   [h, own] and [own]: this rank's columns of the first matrix, and its part of the first bias
    B, b   [own, h] and [h]: the matching rows of the second matrix; the whole second bias, the same on every rank
    dz     [n, h], the same on every rank: the gradient of the loss for z
    z      [n, h] = tanh(x A + a) B + b, with the whole matrices, on every rank
    dx, db [n, h] and [h]: the gradients of the loss for x and b, on every rank

    On one rank it is right. On several it raises no error, and is wrong in three places. Remove the first line and
    repair it. Two all-reduces, of n h numbers each, and nothing else is sent.

    Page: chapters/06_tensor_parallel.ipynb#the-feed-forward-network-one-sum-each-way
    """
    raise NotImplementedError
    y = np.tanh(x @ A + a)
    z = y @ B + b
    comm.Allreduce(mpi.IN_PLACE, z)
    db = dz.sum(axis=0)
    comm.Allreduce(mpi.IN_PLACE, db)
    dx = ((dz @ B.T) * (1 - y * y)) @ A.T
    return z, dx, db


# Level 5: speed up -------------------------------------------------------------------------------------------------


def tensor_degree(devices, sequences, heads, computing, allreduce, cut, whole, memory):
    """Return the tensor-parallel degree P with which a step is shortest. None if none will do.

    devices    how many there are. They make devices / P groups of P, each with a replica of the model.
    sequences  in a step. The groups share them as evenly as whole sequences can be shared, and a group takes its own
               one after the other.
    heads      of attention. P has to divide them, and it has to divide the devices.
    computing  microseconds of one layer, forward and backward, for one sequence on one device; on P devices a P-th
    allreduce  list: allreduce[P] is how many microseconds an all-reduce of a sequence's activations takes on P devices.
               It has entries 0 to devices; entry 1 is 0. A layer has two forward and two backward, which hide behind
               nothing.
    cut        bytes that the P devices of a group share evenly: most weights, and what belongs to them
    whole      bytes that every device needs whatever P is
    memory     bytes of a device

    All are whole numbers. What ends last counts: the group with the most sequences. All layers are equal, so one is
    enough to compare. Of several degrees that are equally quick return the smallest.

    "The largest P inside a node" and "the smallest P that fits" are two rules that one reads. When is each of them
    wrong?

    Page: chapters/06_tensor_parallel.ipynb#scale-how-many-ranks
    """
    raise NotImplementedError


def gather_while_multiplying(comm, x, A, multiply):
    """Gather the ranks' tokens and multiply them by this rank's columns, both at once. Return an array [P n, own].

    x         [n, k]: this rank's n tokens, as many on every rank
    A         [k, own]: this rank's columns of a matrix
    multiply  a function: multiply(comm, X, A) is X @ A. It takes a while, twice as long for twice as many rows. All
              products are made by it.
    returns   X A for the tokens X of all ranks: those of rank 0 first

    A message with one rank's tokens takes t, and the product of one rank's tokens with A takes c. An all-gather and
    then the product would take (P - 1) t + P c. Here it is to take no longer than (P - 1) max(t, c) + c.

    Use comm.Isend(x, dest=...) and comm.Irecv(x, source=...), which only begin and return requests; mpi.waitall(list of
    requests) waits. While a message travels, its array belongs to MPI. Every rank sends P - 1 messages, of n k numbers
    each. No collective calls.

    Page: chapters/06_tensor_parallel_sequence.ipynb#overlap-begin-before-all-is-there
    """
    raise NotImplementedError
