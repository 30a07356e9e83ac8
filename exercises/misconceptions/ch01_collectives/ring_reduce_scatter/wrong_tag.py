"""Numbers the messages by rank, so that sender and receiver disagree."""

import numpy as np

EARNS = "waits for a message with tag 0"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, sendtag=rank, recvbuf=arriving, source=left, recvtag=rank)
        growing += arriving
    return blocks[rank]
