"""Stops after the reduce-scatter: one block on each rank is the sum, the others are not."""

import numpy as np

EARNS = "That is one half"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(total, P)
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    return total
