"""Pairs ranks by rank ^ step: right for powers of two."""

import numpy as np

EARNS = "when P is a power of two, and only then"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for step in range(1, P):
        comm.Sendrecv(x[rank ^ step], dest=rank ^ step, recvbuf=result[rank ^ step], source=rank ^ step)
    return result
