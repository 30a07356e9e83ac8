"""Takes columns for rows."""

import numpy as np

EARNS = "does not lie in one piece"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[:, rank] = x[:, rank]
    for step in range(1, P):
        to, source = (rank + step) % P, (rank - step) % P
        comm.Sendrecv(x[:, to], dest=to, recvbuf=result[:, source], source=source)
    return result
