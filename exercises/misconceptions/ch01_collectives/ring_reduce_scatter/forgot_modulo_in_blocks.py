"""Counts block numbers up, past the end."""

import numpy as np

EARNS = "An index went past the end"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[rank + 1 + step]
        growing = blocks[rank + 2 + step]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving
    return blocks[rank]
