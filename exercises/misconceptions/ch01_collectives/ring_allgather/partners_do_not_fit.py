"""Sends to the right and waits for the right."""

import numpy as np

EARNS = "so no order can be wrong"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[(rank - step) % P]
        arriving = blocks[(rank - 1 - step) % P]
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank + 1) % P)
    return np.concatenate(blocks)
