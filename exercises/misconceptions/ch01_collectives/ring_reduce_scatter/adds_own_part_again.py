"""Adds what arrives and the own part, to a block that holds the own part already."""

import numpy as np

EARNS = "Is something added twice"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(leaving, dest=right, recvbuf=arriving, source=left)
        growing += arriving + np.array_split(x, P)[(rank - 2 - step) % P]
    return blocks[rank]
