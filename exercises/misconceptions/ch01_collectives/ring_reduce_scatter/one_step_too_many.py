"""P ranks, so P steps: the finished block is sent once more, and something is added to it again."""

import numpy as np

EARNS = "which of your messages is not needed"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving
    return blocks[rank]
