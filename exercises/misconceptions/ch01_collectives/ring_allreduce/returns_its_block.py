"""A reduce-scatter, and nothing more."""

import numpy as np

EARNS = "the second half of the work is to show it"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    return blocks[rank]
