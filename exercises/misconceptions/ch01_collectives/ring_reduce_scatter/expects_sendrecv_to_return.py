"""Takes Sendrecv for a function that returns what has come, as in other libraries."""

import numpy as np

EARNS = "takes arrays in both directions and returns nothing"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        blocks[(rank - 2 - step) % P] += comm.Sendrecv(leaving, dest=right, source=left)
    return blocks[rank]
