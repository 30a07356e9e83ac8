"""Receives into the block in both halves: what arrives replaces the own part."""

import numpy as np

EARNS = "In the first half what arrives must meet your own part"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(total, P)
    for step in range(2 * (P - 1)):
        here = blocks[(rank - 1 - step) % P]
        comm.Sendrecv(blocks[(rank - step) % P], dest=(rank + 1) % P, recvbuf=here, source=(rank - 1) % P)
    return total
