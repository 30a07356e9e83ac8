"""Does not send what has no elements."""

import numpy as np

from reference import mpi

EARNS = "They are sent too, so that every rank counts"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        leaving = blocks[(rank - step) % P]
        arriving = blocks[(rank - 1 - step) % P]
        requests = []
        if arriving.size:
            requests.append(comm.Irecv(arriving, source=(rank - 1) % P))
        if leaving.size:
            requests.append(comm.Isend(leaving, dest=(rank + 1) % P))
        mpi.waitall(requests)
    return np.concatenate(blocks)
