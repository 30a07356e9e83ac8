"""Pairs that exchange one way, then the other."""

import numpy as np

EARNS = "Each rank does one thing at a time"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for other in range(P):
        if rank < other:
            comm.Send(x[other], dest=other)
            comm.Recv(result[other], source=other)
        elif rank > other:
            comm.Recv(result[other], source=other)
            comm.Send(x[other], dest=other)
    return result
