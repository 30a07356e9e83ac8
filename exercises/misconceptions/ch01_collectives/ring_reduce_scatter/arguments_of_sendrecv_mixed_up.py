"""Takes the fifth argument of Sendrecv for the tag."""

import numpy as np

EARNS = "look at the order of the arguments"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, right, 0, arriving, 0, left)
        growing += arriving
    return blocks[rank]
