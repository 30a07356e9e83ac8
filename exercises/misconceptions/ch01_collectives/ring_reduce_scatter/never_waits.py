"""Drops the request of Isend: the message may still be on its way when its array is gone."""

import numpy as np

EARNS = "Before the array is used again, and before the function returns, wait"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Isend(leaving, dest=right)
        comm.Recv(arriving, source=left)
        growing += arriving
    return blocks[rank]
