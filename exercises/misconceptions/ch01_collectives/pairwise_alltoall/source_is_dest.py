"""Sends to the rank `step` further on and waits for the same one."""

import numpy as np

EARNS = "so no order can be wrong"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for step in range(1, P):
        partner = (rank + step) % P
        comm.Sendrecv(x[partner], dest=partner, recvbuf=result[partner], source=partner)
    return result
