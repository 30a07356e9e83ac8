"""Exchanges with all others; the own row stays as it was made."""

import numpy as np

EARNS = "That is the place of what the rank has itself"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.zeros_like(x)
    for step in range(1, P):
        dest, source = (rank + step) % P, (rank - step) % P
        comm.Sendrecv(x[dest], dest=dest, recvbuf=result[source], source=source)
    return result
