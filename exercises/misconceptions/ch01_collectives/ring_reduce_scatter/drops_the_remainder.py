"""Blocks of n // P elements: right as long as P divides n."""

import numpy as np

EARNS = "over. Whose are they?"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    size = x.size // P
    blocks = x[: size * P].copy().reshape(P, size)
    for step in range(P - 1):
        arriving = np.empty(size)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        blocks[(rank - 2 - step) % P] += arriving
    return blocks[rank].copy()
