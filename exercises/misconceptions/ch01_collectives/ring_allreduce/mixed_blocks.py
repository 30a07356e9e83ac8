"""Begins the second half as if the blocks were numbered from the right neighbour on."""

import numpy as np

EARNS = "Blocks got mixed"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(total, P)
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    for step in range(P - 1):
        comm.Sendrecv(
            blocks[(rank - step) % P],
            dest=(rank + 1) % P,
            recvbuf=blocks[(rank - 1 - step) % P],
            source=(rank - 1) % P,
        )
    return total
