"""Numbers the blocks upwards, although they come from the left: sends what has not come yet."""

import numpy as np

EARNS = "What is received into blocks[q] must be the block of rank q"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.zeros(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[(rank + step) % P]
        arriving = blocks[(rank + step + 1) % P]
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
    return np.concatenate(blocks)
