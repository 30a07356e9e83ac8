"""Every rank sends its block to every other: the same bytes, but no ring."""

import numpy as np

EARNS = "Every rank sends straight to every other"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(1, P):
        source = (rank - step) % P
        comm.Sendrecv(block, dest=(rank + step) % P, recvbuf=blocks[source], source=source)
    return np.concatenate(blocks)
