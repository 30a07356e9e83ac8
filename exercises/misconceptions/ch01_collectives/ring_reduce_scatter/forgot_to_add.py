"""Receives straight into the block: what arrives replaces the own part."""

import numpy as np

EARNS = "meet your own part, not replace it"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        comm.Sendrecv(leaving, dest=right, recvbuf=growing, source=left)
    return blocks[rank]
