"""The last rank has no right neighbour, it seems."""

import numpy as np

EARNS = "Which neighbours does the last rank have"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[(rank - step) % P]
        arriving = blocks[(rank - 1 - step) % P]
        comm.Sendrecv(leaving, dest=rank + 1, recvbuf=arriving, source=rank - 1)
    return np.concatenate(blocks)
