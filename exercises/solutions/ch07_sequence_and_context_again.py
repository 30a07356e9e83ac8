"""Other solutions of chapter 7. Each docstring says why it works; solving an exercise shows it."""

import numpy as np

from reference import mpi

# Level 1: predict --------------------------------------------------------------------------------------------------


def bytes_of_attention(method, b, s, a, g, d, P, itemsize):
    """By the whole sequence: of all keys and values a ring hands on (P - 1) / P. Ulysses sends a P-th of that part, and
    has queries and outputs besides.
    """
    head = b * s * d * itemsize * (P - 1) / P
    if method != "ulysses":
        return 2 * g * head
    return 2 * (a + max(g, P)) * head / P


def which_for_which():
    """The same, in the order of the letters: fewest bytes with many heads; heads that cannot be dealt out; nothing to
    cut; two networks; an easy mask; fewest bytes with grouped heads; a transfer that is hidden.
    """
    return dict(zip("ABCDEFG", ["ulysses", "ring", "none", "both", "gather", "ulysses", "ring"]))


def activation_bytes(b, s, h, a, P, blockwise):
    """By the token: each of a rank's tokens keeps 34 h bytes, and for each head a row of scores or its log-sum-exp."""
    tokens = b * s / P
    row = 4 if blockwise else 5 * s
    return tokens * (34 * h + a * row)


# Level 2: fill in --------------------------------------------------------------------------------------------------


def merge_two(o1, L1, o2, L2):
    """With logaddexp, which is stable: the weight of each part is exp(L1 - L), at most 1, and both add up to 1. Where
    both are -inf, exp(-inf - 0) is 0.
    """
    L = np.logaddexp(L1, L2)
    base = np.where(np.isneginf(L), 0.0, L)
    return np.exp(L1 - base)[:, None] * o1 + np.exp(L2 - base)[:, None] * o2, L


def ulysses_reshape(comm, x, back):
    """Cut with np.split and joined with np.concatenate: what is sent is a stack of pieces, what comes is a stack of
    pieces, and only the two axes along which they are cut and joined are exchanged.
    """
    cut, join = (1, 2) if back else (2, 1)
    if x.shape[cut] % comm.size:
        return None
    send = np.stack(np.split(x, comm.size, axis=cut))
    come = np.empty_like(send)
    comm.Alltoall(send, come)
    return np.concatenate(list(come), axis=join)


# Level 3: write ----------------------------------------------------------------------------------------------------


def blockwise_attention(q, first, blocks):
    """Each block by itself, finished; then merged by its log-sum-exp with what there was. It computes a division more
    for each block, and needs no state but a result.
    """
    o, L = np.zeros_like(q), np.full(len(q), -np.inf)
    for k, v, start in blocks:
        behind = start + np.arange(len(k)) > first + np.arange(len(q))[:, None]
        S = q @ k.T / np.sqrt(q.shape[1])
        S[behind] = -np.inf
        L_block = np.logaddexp.reduce(S, axis=1)
        together = np.logaddexp(L, L_block)
        base = np.where(np.isneginf(together), 0.0, together)
        o = np.exp(L - base)[:, None] * o + np.exp(S - base[:, None]) @ v
        L = together
    return o, L


def zigzag_positions(rank, ranks, s):
    """Two chunks of u; their positions add up pair by pair to s - 1, so the number of pairs is u (s + 1): the same
    for every rank.
    """
    u, rest = divmod(s, 2 * ranks)
    if rest:
        return None
    early = list(range(s))[rank * u : rank * u + u]
    return early + [s - 1 - position for position in reversed(early)], u * (s + 1)


def ring_attention(comm, q, k, v):
    """A generator does the travelling and blockwise_attention the computing: it does not know that blocks come from
    other ranks. A rank that may not see a block gets scores of -inf only, which add nothing.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    def blocks():
        held = np.stack([k, v])
        for step in range(comm.size):
            if step > 0:
                coming = np.empty_like(held)
                requests = [comm.Irecv(coming, source=left), comm.Isend(held, dest=right)]
                mpi.waitall(requests)
                held = coming
            yield held[0], held[1], (comm.rank - step) % comm.size * len(q)

    return blockwise_attention(q, comm.rank * len(q), blocks())[0]


# Level 4: repair ---------------------------------------------------------------------------------------------------


def mask_of_block(rank, step, ranks, c):
    """By cases: an earlier rank's block is all visible, a later one's not at all, the own one is the triangle."""
    if step == 0:
        return np.tri(c, dtype=bool)
    return np.full((c, c), step <= rank)


# Level 5: speed up -------------------------------------------------------------------------------------------------


def overlap_the_ring(comm, block, compute):
    """Two arrays in turn, and the last block outside the loop. Each is received into only after it has been sent."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    rooms = [block.copy(), np.empty_like(block)]
    total = np.zeros_like(block)
    for step in range(comm.size - 1):
        leaving, coming = rooms[step % 2], rooms[(step + 1) % 2]
        requests = [comm.Isend(leaving, dest=right), comm.Irecv(coming, source=left)]
        total += compute(comm, leaving)
        mpi.waitall(requests)
    return total + compute(comm, rooms[(comm.size - 1) % 2])
