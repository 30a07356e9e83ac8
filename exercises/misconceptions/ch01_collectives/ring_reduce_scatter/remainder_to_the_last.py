"""Blocks of n // P elements, and the last rank takes what is left over."""

import numpy as np

EARNS = "the cuts between the blocks"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    size = x.size // P
    x = x.copy()
    blocks = [x[i * size : (i + 1) * size if i < P - 1 else None] for i in range(P)]
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    return blocks[rank].copy()
