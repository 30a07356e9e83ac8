"""Sends the right blocks and receives each into the place of the one before."""

import numpy as np

EARNS = "each is put into a place next to its own"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.zeros(length) for length in lengths]
    held = blocks[rank][:] = block
    for step in range(P - 1):
        arriving = blocks[(rank - 2 - step) % P]
        comm.Sendrecv(held, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        held = arriving.copy()
    return np.concatenate(blocks)
