"""Passes all rows around a ring, and each rank takes out its own on the way."""

import numpy as np

from reference import mpi

EARNS = "and nothing is passed on for others"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    right, left = (rank + 1) % P, (rank - 1) % P
    travelling = [x[(rank + step) % P].copy() for step in range(1, P)]
    for step in range(1, P):
        arriving = [np.empty_like(row) for row in travelling]
        requests = [comm.Irecv(row, source=left) for row in arriving]
        requests += [comm.Isend(row, dest=right) for row in travelling]
        mpi.waitall(requests)
        result[(rank - step) % P] = arriving[0]
        travelling = arriving[1:]
    return result
