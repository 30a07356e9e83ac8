"""Halves the traffic by sending float32, and half of the digits with it."""

import numpy as np

EARNS = "Somewhere the numbers went through float32"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty(growing.size, np.float32)
        comm.Sendrecv(leaving.astype(np.float32), dest=right, recvbuf=arriving, source=left)
        growing += arriving
    return blocks[rank]
