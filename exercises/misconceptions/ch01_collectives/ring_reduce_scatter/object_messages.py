"""Sends with the small-letter calls of mpi4py's tutorial, which pickle."""

import numpy as np

EARNS = "comm.sendrecv pickles its object"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = comm.sendrecv(leaving, dest=right, source=left)
        growing += arriving
    return blocks[rank]
