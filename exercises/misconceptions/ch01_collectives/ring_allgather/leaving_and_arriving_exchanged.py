"""The two blocks of a step in the wrong order: the own one is overwritten first."""

import numpy as np

EARNS = "Your own block was overwritten"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.zeros(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        arriving = blocks[(rank - step) % P]
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
    return np.concatenate(blocks)
