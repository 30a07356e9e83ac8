"""Returns what it had for the others."""

import numpy as np

EARNS = "not what you have for them"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = x.copy()
    for step in range(1, P):
        dest, source = (rank + step) % P, (rank - step) % P
        comm.Sendrecv(x[dest], dest=dest, recvbuf=np.empty_like(x[source]), source=source)
    return result
