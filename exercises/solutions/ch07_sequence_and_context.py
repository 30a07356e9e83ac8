"""Solutions of chapter 7. Each docstring says why it works; it is shown once the exercise is solved."""

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bytes_of_attention(method, b, s, a, g, d, P, itemsize):
    """A ring moves blocks on: every rank sends its own and P - 2 others', so P - 1 blocks of k and v leave it, and in
    the end (P - 1) / P of all keys went through its hands. An all-gather by a ring does the same in one call. Ulysses
    sends each piece straight to the one rank that needs it, so (P - 1) / P of a rank's own tensors leave it.

    The example: 940 MB a layer for the all-gather and the ring, 235 MB for Ulysses, a fourth (half of P): it is not the
    same order. What is O(b s a d / P) is what a rank contributes to the all-gather; it must then hand on what the
    others do. With 8 heads of keys the ring sends 235 MB and Ulysses 147, whose queries and outputs are as large as
    before. Follow-up: from how few heads of keys on, with 8 ranks and 32 heads, does the ring send less than Ulysses?
    """
    queries = b * (s // P) * a * d * itemsize
    keys = b * (s // P) * g * d * itemsize
    if method == "ulysses":
        copies = max(P // g, 1)
        return (P - 1) * (2 * queries + 2 * keys * copies) / P
    return (P - 1) * 2 * keys


def which_for_which():
    """Strike out what cannot be used, then count. Ulysses and its mixture deal out heads, so 25 heads on 8 ranks (B),
    32 on 64 (D) and 12 on 16 (E) rule it out; an all-gather needs room for all keys (not B, D); a ring between nodes
    needs nodes.

    A: 2 * 7/8 * 64 = 112 heads' worth of bytes against 2 * 7 * 32 = 448. F is the same count with grouped heads: eight
    groups on 16 ranks are sent twice each, 2 * 15/16 * (64 + 16) = 150 against 2 * 15 * 8 = 240. C needs nothing of all
    this, for whole documents fit. In D Ulysses inside the node gives each of 8 cards an eighth of the heads, so each
    sends 7 blocks where one card of the flat ring sends 63. E is Llama 3's argument for the all-gather; G is the
    ring's: a message that takes less time than a computation costs none. Follow-up: with 4 heads of keys on 8 ranks,
    which sends less in A?
    """
    return {"A": "ulysses", "B": "ring", "C": "none", "D": "both", "E": "gather", "F": "ulysses", "G": "ring"}


def activation_bytes(b, s, h, a, P, blockwise):
    """A rank has b s / P tokens, so b s h / P elements of activations, at 34 bytes; and b a s / P rows of scores. A
    row is s long, whatever P is, because each query meets the keys of all ranks.

    The example: 36.5 GB of activations and 5.5 TB of scores for one layer on one rank. With 16 ranks 346 GB are left,
    and no accelerator has that; with blocks on one rank it is 36.5 GB and 34 MB. So blockwise attention comes first,
    and context parallelism then divides what is left, to 2.3 GB a layer. Scores grow with the square of s, and P ranks
    only divide them by P. Follow-up: from which s on are the scores more than the 34 bytes, for this model?
    """
    rows = b * a * s / P
    return 34 * b * s * h / P + rows * (4 if blockwise else 5 * s)


# Level 2: fill in --------------------------------------------------------------------------------------------------


def merge_two(o1, L1, o2, L2):
    """An output is an average of values with the weights exp(score), and exp(L) is the sum of the weights. So two
    averages over different keys make one average with the weights exp(L1) and exp(L2). Nothing else of the keys is
    needed: this is why attention can be computed anywhere, in any order, and merged afterwards.

    Only the ratio of the weights counts, so both are divided by the larger one: the exponents are at most 0, one of
    them is 0, and total is between 1 and 2. What may be so small that it becomes 0 does not matter beside it. Where
    both are -inf there is nothing to subtract; 0 in place of -inf makes both weights the 0 that is meant. Ring
    attention does just this. Follow-up: is the merge associative, and does it have a neutral element?
    """
    m = np.maximum(L1, L2)
    m = np.where(np.isneginf(m), 0.0, m)
    w1, w2 = np.exp(L1 - m), np.exp(L2 - m)
    total = w1 + w2
    with np.errstate(divide="ignore"):
        L = m + np.log(total)
    o = (w1[:, None] * o1 + w2[:, None] * o2) / np.where(total > 0, total, 1.0)[:, None]
    return o, L


def ulysses_reshape(comm, x, back):
    """An all-to-all wants the pieces of all ranks one after the other: [P, ...]. So the axis that is shared out is cut
    in two, P and the rest, and P comes to the front; what arrives has P in front as well, and that axis goes where the
    other one is to become longer, as the outer part of it.

    A rank keeps b s a d / P numbers before and after, and sends (P - 1) / P of them: less and less the more ranks
    there are. After it every head has all tokens on one rank, so any attention kernel will do, with any mask. The
    number of heads is the limit, and that is why it is refused here and not padded. Follow-up: with 8 heads of keys
    and 16 ranks, what must be done to k and v first, and what to their gradients afterwards?
    """
    P = comm.size
    b, tokens, heads, d = x.shape
    if (tokens if back else heads) % P:
        return None
    if back:
        send = x.reshape(b, P, tokens // P, heads, d).transpose(1, 0, 2, 3, 4)
    else:
        send = x.reshape(b, tokens, P, heads // P, d).transpose(2, 0, 1, 3, 4)
    send = np.ascontiguousarray(send)  # send[j] is for rank j
    come = np.empty_like(send)  # come[j] is from rank j
    comm.Alltoall(send, come)
    if back:
        return come.transpose(1, 2, 0, 3, 4).reshape(b, tokens // P, P * heads, d)
    return come.transpose(1, 0, 2, 3, 4).reshape(b, P * tokens, heads // P, d)


# Level 3: write ----------------------------------------------------------------------------------------------------


def blockwise_attention(q, first, blocks):
    """For each query three numbers and a row are all that is needed of the keys so far: the maximum m, the sum of
    exp(score - m), and the same sum of values. A larger maximum changes all that was summed by one factor, exp(old m -
    new m), so it can be corrected afterwards without knowing what went into it.

    The positions of a block tell its mask, so its place in the sequence, or the rank that it comes from, does not
    matter. Memory is one block of scores and the output, for a sequence of any length; this is FlashAttention without
    its kernel. L = m + log(sum) is what the backward pass needs, and what lets results be merged. Follow-up: which
    blocks could be skipped without looking at their numbers, and what would that save?
    """
    positions = first + np.arange(len(q))
    m, total, o = np.full(len(q), -np.inf), np.zeros(len(q)), np.zeros_like(q)
    for k, v, start in blocks:
        sees = positions[:, None] >= start + np.arange(len(k))
        S = np.where(sees, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
        largest = np.maximum(m, S.max(axis=1))
        base = np.where(np.isneginf(largest), 0.0, largest)
        alpha, P = np.exp(m - base), np.exp(S - base[:, None])
        total = alpha * total + P.sum(axis=1)
        o = alpha[:, None] * o + P @ v
        m = largest
    with np.errstate(divide="ignore"):
        return o / np.where(total > 0, total, 1.0)[:, None], m + np.log(total)


def zigzag_positions(rank, ranks, s):
    """A query at position p has p + 1 keys, so early chunks are light and late ones heavy. One of each, as far from the
    beginning as the other is from the end, weighs the same for every pair: p + (s - 1 - p) is s - 1, whatever p is.

    For 8 ranks contiguous parts give the last one 15 times the work of the first and nearly twice the mean, so nearly
    half of all ranks' time is spent waiting. Zigzag is exactly even, in every step of a ring as well. Follow-up: some
    packed documents are cut in zigzag as if they were one. Is the work even, and what would you do?
    """
    if s % (2 * ranks):
        return None
    u = s // (2 * ranks)
    positions = [*range(rank * u, (rank + 1) * u), *range((2 * ranks - 1 - rank) * u, (2 * ranks - rank) * u)]
    return positions, sum(position + 1 for position in positions)


def ring_attention(comm, q, k, v):
    """Queries stay, and all keys come past them. Each block adds to what is kept of the blocks before it, by the online
    softmax, so a rank never has more than one block beside its own. In step t it is that of rank r - t, and this number
    alone decides the mask: an earlier rank's block is visible, the own one is the triangle, a later one is not seen.

    Each rank sends 2 (P - 1) c d numbers, as an all-gather would; what is gained over it is memory, and that a block
    can travel while the one before it is computed with (overlap_the_ring). With a causal mask rank 0 uses one block and
    the last rank all of them, and everybody takes as long as that one: zigzag mends it. Follow-up: half of the messages
    carry blocks that nobody on their way will ever see. Which ones could be left out, and who would be quicker by it?
    """
    rank, P, c = comm.rank, comm.size, len(q)
    held = np.stack([k, v])
    where = np.arange(c)
    m, total, o = np.full(c, -np.inf), np.zeros(c), np.zeros_like(q)
    for step in range(P):
        source = (rank - step) % P
        if source <= rank:
            sees = rank * c + where[:, None] >= source * c + where
            S = np.where(sees, q @ held[0].T / np.sqrt(q.shape[1]), -np.inf)
            largest = np.maximum(m, S.max(axis=1))
            alpha, weights = np.exp(m - largest), np.exp(S - largest[:, None])
            total = alpha * total + weights.sum(axis=1)
            o = alpha[:, None] * o + weights @ held[1]
            m = largest
        if step < P - 1:
            coming = np.empty_like(held)
            comm.Sendrecv(held, dest=(rank + 1) % P, recvbuf=coming, source=(rank - 1) % P)
            held = coming
    return o / total[:, None]


# Level 4: repair ---------------------------------------------------------------------------------------------------


def mask_of_block(rank, step, ranks, c):
    """Three mistakes. Blocks come from the left, so in step t it is that of rank - t. A row of the mask is a query, so
    queries are the column [:, None] and keys the row. And `keys - 1` let each query see one key behind it: the next
    token, which the model is to predict.

    That last one makes the loss fall, and the model is useless, so a loss alone never shows that a mask is right.
    What does is a test: change the last token, and no output before it may change. Comparing positions is all that a
    mask of any layout needs; nothing of it depends on blocks being equal or contiguous. Follow-up: what changes for
    zigzag? And for packed documents?
    """
    source = (rank - step) % ranks
    queries = rank * c + np.arange(c)
    keys = source * c + np.arange(c)
    return queries[:, None] >= keys[None, :]


# Level 5: speed up -------------------------------------------------------------------------------------------------


def overlap_the_ring(comm, block, compute):
    """Sending a block on and computing with it both only read it, so they can go on at the same time; what comes needs
    an array of its own. Begin both transfers, compute, wait: a step lasts as long as the longer of the two, and the
    last one has nothing to send.

    So (P - 1) max(t, c) + t: if t is at least c, the ring costs no time at all. In attention t grows with the square of
    the tokens of a rank and c with their number, so from some length on everything is hidden. The order matters: who
    posts the transfer after compute has written the slow version with other calls. Follow-up: in the backward pass the
    sums of dk and dv travel as well, and each rank must add to them before it sends them on. What can be hidden there?
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    held, total = block, np.zeros_like(block)
    for step in range(comm.size):
        coming, requests = np.empty_like(held), []
        if step < comm.size - 1:
            requests = [comm.Irecv(coming, source=left), comm.Isend(held, dest=right)]
        total += compute(comm, held)
        mpi.waitall(requests)
        held = coming
    return total
