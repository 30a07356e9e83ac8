"""Counts block numbers up, past the end."""

import numpy as np

EARNS = "An index went past the end"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[rank + step]
        arriving = blocks[rank + step + 1]
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
    return np.concatenate(blocks)
