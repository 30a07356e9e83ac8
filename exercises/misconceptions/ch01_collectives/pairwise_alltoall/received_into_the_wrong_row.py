"""Puts what comes into the row of the rank that it sends to."""

import numpy as np

EARNS = "and stands in another's place"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for step in range(1, P):
        dest, source = (rank + step) % P, (rank - step) % P
        comm.Sendrecv(x[dest], dest=dest, recvbuf=result[dest], source=source)
    return result
