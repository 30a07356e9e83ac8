"""Sends to the right, then receives from the left: a circle of waiting ranks."""

import numpy as np

EARNS = "Send may wait until its message is received"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for step in range(1, P):
        dest, source = (rank + step) % P, (rank - step) % P
        comm.Send(x[dest], dest=dest)
        comm.Recv(result[source], source=source)
    return result
