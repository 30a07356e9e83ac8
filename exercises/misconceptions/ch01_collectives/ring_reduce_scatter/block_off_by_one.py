"""Starts with the own block, as many texts draw it, and so ends with the right neighbour's."""

import numpy as np

EARNS = "The sum is right and the place is wrong"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - step) % P]
        growing = blocks[(rank - 1 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving
    return blocks[(rank + 1) % P]
