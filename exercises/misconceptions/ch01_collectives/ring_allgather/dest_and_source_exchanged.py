"""Sends to the left and receives from the right."""

import numpy as np

EARNS = "Your ring turns the other way round"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[(rank + step) % P]
        arriving = blocks[(rank + step + 1) % P]
        comm.Sendrecv(leaving, dest=(rank - 1) % P, recvbuf=arriving, source=(rank + 1) % P)
    return np.concatenate(blocks)
