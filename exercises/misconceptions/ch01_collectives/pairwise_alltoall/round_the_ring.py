"""Whole arrays go round the ring, and each rank takes its row."""

import numpy as np

EARNS = "comes past ranks that have no use for it"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    passing = x
    for step in range(1, P):
        arriving = np.empty_like(x)
        comm.Sendrecv(passing, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        result[(rank - step) % P] = arriving[rank]
        passing = arriving
    return result
