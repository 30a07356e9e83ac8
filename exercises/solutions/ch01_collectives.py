"""Solutions of chapter 1. Each docstring says why it works; it is shown once the exercise is solved."""

import numpy as np


def ring_reduce_scatter(comm, x):
    """Follow block b: it starts at rank b + 1 and moves right once a step. On each rank it meets that rank's part and
    takes it along. After P - 1 steps it is at rank b, where it has collected all P parts: it is home, and complete.

    So in step s, rank r sends block r - 1 - s and adds to block r - 2 - s; the last one to arrive is its own. It sends
    every block but its own, once: n - n/P elements. No algorithm sends less, because P - 1 ranks must each give away
    what they know about every block that is not theirs. And in every step every link carries one block, so the time is
    (P - 1) (alpha + n/P beta): P - 1 latencies are the price of a ring, and the reason why trees win for small n.
    """
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving
    return blocks[rank]
