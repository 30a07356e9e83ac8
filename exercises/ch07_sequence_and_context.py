"""Chapter 7: sequence and context parallelism. Replace each `raise NotImplementedError` by your answer, then run:
pytest exercises/

The chapter's page is chapters/07_sequence_and_context.ipynb. The exercises come in five levels; do them in order or
not, each stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (20), 4 repair (10), 5 speed up
(15).

Functions whose first argument is `comm` run once on each rank. `comm.rank` is this rank's number (0 to P - 1) and
`comm.size` is P. `comm.Sendrecv(x, dest=r, recvbuf=y, source=s)` sends x and receives y at once.
`comm.Isend(x, dest=r)` and `comm.Irecv(y, source=s)` begin to; until `mpi.waitall(requests)` the arrays are MPI's.
`comm.Alltoall(send, recv)` sends send[j] to rank j and receives recv[j] from it. All of them take arrays that lie in
one piece (np.ascontiguousarray makes one).

Letters: b sequences of s tokens, a heads of queries, g heads of keys and values, d the width of a head, P ranks.

Unless an exercise says otherwise, arguments stay as they are, and what is returned is memory of its own.
"""

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bytes_of_attention(method, b, s, a, g, d, P, itemsize):
    """Return how many bytes one rank sends in the forward pass of the attention of one layer.

    method    "ring": keys and values travel around the ring, one block after the other, until every rank has met all
              "gather": an all-gather of keys and values, by a ring
              "ulysses": all-to-alls of q, k, v, and of the output. A rank's piece for itself is not sent. Before them
              each head of keys and values is repeated until there are P, if there are fewer.
    b, s      sequences in the batch, and tokens of a sequence; each rank has s / P of them
    a, g      heads of queries (and of the output), and heads of keys and values. g is at most a.
    d         width of a head
    P         ranks, at least 1. It divides s. For "ulysses" it divides a, too, and one of g and P divides the other.
    itemsize  bytes of an element

    Try it: one sequence of 65,536 tokens, 32 heads of queries and of keys, d = 128, 8 ranks, bfloat16. A common table
    says that the all-gather sends O(b s a d / P) as Ulysses does. Then 8 heads of keys in place of 32.

    Page: chapters/07_sequence_and_context.ipynb#what-each-method-sends
    """
    raise NotImplementedError


def which_for_which():
    """Return a dictionary from the letter of each situation to the name of the method.

    Names: "ring"      keys and values travel, while the block before is computed
           "gather"    an all-gather of keys and values before computing
           "ulysses"   all-to-alls between a part of the tokens and a share of the heads, as large on each rank
           "both"      Ulysses inside a node, a ring between the nodes
           "none"      no sequence is cut: each rank takes other sequences (data parallelism)

    k and v are repeated for the heads that share them only where a method must do so.

    A   8 ranks of one node, one sequence, 32 heads of queries and as many of keys. Nothing can be hidden behind
        computing. Wanted: the fewest bytes.
    B   8 ranks, one long sequence, and a model with 25 heads of queries and of keys, like GPT-2 XL. The keys and
        values of the whole sequence do not fit into the memory of one rank.
    C   Documents of 2,000 tokens each, 100 of them for every rank in each step. The activations of four documents fit
        into a rank's memory.
    D   64 ranks, 8 in each node. Inside a node the network is quick. Between nodes it is slow, and each rank has a
        card of its own to it. One sequence of a million tokens, 32 heads of queries and of keys; the keys and values
        of all tokens do not fit on a rank. Wanted: the fewest bytes through the card that sends most.
    E   16 ranks, one sequence of packed documents. The mask is easy to apply only where all keys are in one place.
        12 heads of queries share one head of keys. To collect its keys and values takes a hundredth of the time of
        the attention, and they fit.
    F   16 ranks of one node, one sequence, 64 heads of queries and 8 of keys. Nothing can be hidden behind
        computing. Wanted: the fewest bytes.
    G   16 ranks, one sequence, 16 heads of queries and of keys. All-to-alls would take 10 ms and could not be hidden.
        A block of keys and values takes 5 ms to travel to the next rank, and 40 ms to be computed with. Wanted: the
        least time.

    Page: chapters/07_sequence_and_context.ipynb#which-for-which
    """
    raise NotImplementedError


def activation_bytes(b, s, h, a, P, blockwise):
    """Return the bytes of activations of one transformer layer that a rank keeps for the backward pass.

    b, s, h    sequences, tokens of a sequence, and the width of the model
    a          heads of queries, and as many of keys and values
    P          ranks of context parallelism: each has s / P of the tokens, with all heads, and meets all keys
    blockwise  False: the weights of attention are kept, for all pairs of a query and a key
               True: attention by blocks; in place of the weights it keeps one number of 32 bits, the log-sum-exp, for
               each head and query

    In 16 bits and with dropout (Korthikanti et al., 2022) a layer keeps 34 bytes for each of the b s h elements of its
    activations; and without blockwise attention, in addition, 5 bytes for each head and each pair of a query and a
    key: the softmax (2), its dropout mask (1), and what dropout has left of it (2). Masked pairs count like others.

    Try it: one sequence of 131,072 tokens, h = 8,192, 64 heads; on one rank, and on 16. Which of the two changes
    brings more?

    Page: chapters/07_sequence_and_context.ipynb#why
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def merge_two(o1, L1, o2, L2):
    """Return (o, L): attention over two sets of keys together, made of the attention over each of them.

    o1, o2   float64 arrays [s, d]: for each of s queries the output over the first set of keys, over the second set
    L1, L2   float64 arrays [s]: for each query the logarithm of the sum of exp(score) over those keys (log-sum-exp).
             Where a query sees no key of a set, it is -inf, and the output is 0 there.
    returns  (o [s, d], L [s]): the same for both sets of keys together.

    Scores may be as large as 1,000 and as small as -1,000: exp(1000) is infinite in float64. A query that sees no key
    of either set has o = 0 and L = -inf, and never NaN.
    Example: o1 = 1 and L1 = log 3, o2 = 5 and L2 = log 1 give o = 2 and L = log 4.
    Remove the first line below and fill in the four blanks `___`.

    Page: chapters/07_sequence_and_context.ipynb#two-blocks
    """
    raise NotImplementedError
    m = np.maximum(L1, L2)
    m = np.where(m == ___, 0.0, m)
    w1, w2 = np.exp(___), np.exp(___)
    total = w1 + w2
    with np.errstate(divide="ignore"):
        L = m + np.log(total)
    o = (w1[:, None] * o1 + w2[:, None] * o2) / np.where(total > 0, ___, 1.0)[:, None]
    return o, L


def ulysses_reshape(comm, x, back):
    """Return x with the tokens of all ranks and a part of the heads, or the other way round.

    x        float64 array. back False: [b, s/P, a, d], this rank's tokens with all heads; rank r has the r-th part of
             the tokens. back True: [b, s, a/P, d], all tokens with this rank's heads; rank r has the r-th part of the
             heads.
    back     False: return [b, s, a/P, d]; True: return [b, s/P, a, d]. The one undoes the other.
    returns  a new float64 array; or None, on every rank and without a message, if P does not divide what is to be
             shared out: the heads (back False), or the tokens (back True).

    One Alltoall, and nothing else.
    Remove the first line below and fill in the five blanks `___`.

    Page: chapters/07_sequence_and_context.ipynb#ulysses
    """
    raise NotImplementedError
    P = comm.size
    b, tokens, heads, d = x.shape
    if (tokens if back else heads) % P:
        return None
    if back:
        send = x.reshape(b, P, tokens // P, heads, d).transpose(___)
    else:
        send = x.reshape(___).transpose(2, 0, 1, 3, 4)
    send = np.ascontiguousarray(send)  # send[j] is for rank j
    come = np.empty_like(send)  # come[j] is from rank j
    comm.Alltoall(send, come)
    if back:
        return come.transpose(___).reshape(b, tokens // P, P * heads, d)
    return come.transpose(___).reshape(___)


# Level 3: write ----------------------------------------------------------------------------------------------------


def blockwise_attention(q, first, blocks):
    """Return (o, L): causal attention of some queries over keys and values that come in blocks.

    q        float64 array [s, d]: queries at the positions first, first + 1, ..., first + s - 1
    first    position of the first query
    blocks   to be gone through once: `for k, v, start in blocks`. k and v are float64 arrays [t, d], the keys and
             values at the positions start, start + 1, ... Each block is another one, of another length perhaps; they
             come in no particular order, and there may be none.
    returns  (o [s, d], L [s]): the output, and for each query the log-sum-exp of its scores.

    The score of query i and key j is q_i . k_j / sqrt(d). A query sees the keys that do not stand behind it: those at
    its own position and before. A query that sees no key has o = 0 and L = -inf. Scores may be as large as 1,000.

    Keep one block at a time, with its scores: neither all scores nor all keys. The memory that is used meanwhile is
    looked at: it may not grow with the number of blocks.

    Page: chapters/07_sequence_and_context.ipynb#any-number-of-blocks
    """
    raise NotImplementedError


def zigzag_positions(rank, ranks, s):
    """Return (positions, pairs): which tokens of a sequence a rank holds in zigzag, and how much work they are.

    rank       this rank, 0 to ranks - 1
    ranks      P, at least 1
    s          tokens of the sequence, at least 1
    returns    (positions, pairs), or None if 2 P does not divide s.
               positions: list of the positions of its tokens, from 0 to s - 1, in ascending order.
               pairs: how many pairs of a query of this rank and a key of any rank the causal mask leaves: a query at
               position p sees the keys at 0, ..., p.

    The sequence is cut into 2 P chunks of equal length. Rank r holds chunk r and the one that is as far from the end,
    so that all ranks have the same work.
    Example: rank 1 of 2 holds positions 2, 3, 4, 5 of 8, and has 3 + 4 + 5 + 6 = 18 pairs.

    Page: chapters/07_sequence_and_context.ipynb#who-holds-what
    """
    raise NotImplementedError


def ring_attention(comm, q, k, v):
    """Return this rank's part of causal attention over the sequence of all ranks: a new float64 array [c, d].

    q, k, v  float64 arrays [c, d], one head, of this rank's c tokens; all ranks have as many. The sequence is cut into
             equal parts: rank r has the tokens at positions r c, ..., (r + 1) c - 1. They must not be changed.

    The score of query i and key j is q_i . k_j / sqrt(d). A query sees the keys at its own position and before. Scores
    may be as large as 1,000.

    Keys and values travel around the ring, from each rank to its right neighbour, rank + 1 (the last one's is rank 0):
    P - 1 messages from every rank, each with k and v of one block together. Queries stay where they are. Use Sendrecv,
    or Isend and Irecv; no collective calls. Every block is sent on, whether its receiver may see it or not.
    You may call merge_two or blockwise_attention, if you have written them.

    Page: chapters/07_sequence_and_context.ipynb#ring-attention
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def mask_of_block(rank, step, ranks, c):
    """Return the causal mask of what a rank computes in one step of the ring: a new bool array [c, c].

    rank     this rank, 0 to ranks - 1: its queries stand at positions rank c, ..., (rank + 1) c - 1
    step     0, ..., ranks - 1. In step 0 a rank has its own keys; in each step after that it has the ones that its left
             neighbour, rank - 1, had in the step before.
    ranks    P
    c        tokens of a rank
    returns  entry [i, j] is True if this rank's query i may see key j of the block that it has in this step: a query
             sees the keys at its own position and before.

    Below is what somebody has written. It runs, and what comes out has the right shape; the loss of a model with it
    falls even faster than it should. Remove the first line, and find out why: it is more than one mistake.

    Page: chapters/07_sequence_and_context.ipynb#ring-attention
    """
    raise NotImplementedError
    source = (rank + step) % ranks
    queries = rank * c + np.arange(c)
    keys = source * c + np.arange(c)
    return queries[None, :] >= keys[:, None] - 1


# Level 5: speed up -------------------------------------------------------------------------------------------------


def overlap_the_ring(comm, block, compute):
    """Return the sum over the blocks of all ranks of compute(comm, block): a new float64 array.

    block    one-dimensional float64 array, this rank's, of the same length on every rank. It must not be changed.
    compute  a function. compute(comm, block) works on one block, of this or of another rank, for as long as it takes
             (as long for every block), and returns a float64 array. It must be called once for each of the P blocks.

    Blocks travel around the ring to the right: P - 1 messages from every rank, each of one block. The version below is
    right and too slow: it takes P t + (P - 1) c seconds, with t for computing a block and c for sending one. Let the
    next block come while this one is computed: then it takes (P - 1) max(t, c) + t. Remove the first line, and change
    the order of what is done. (A rank may send one block, receive another, and compute, all at the same time.)

    Page: chapters/07_sequence_and_context.ipynb#ring-attention
    """
    raise NotImplementedError
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    held = block.copy()
    total = compute(comm, held)
    for _ in range(comm.size - 1):
        coming = np.empty_like(held)
        comm.Sendrecv(held, dest=right, recvbuf=coming, source=left)
        held = coming
        total = total + compute(comm, held)
    return total
