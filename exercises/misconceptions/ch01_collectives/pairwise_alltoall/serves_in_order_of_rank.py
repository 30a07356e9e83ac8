"""Everybody serves rank 0 first, then rank 1, and so on: queues."""

import numpy as np

from reference import mpi

EARNS = "so they queue up"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    others = [other for other in range(P) if other != rank]
    requests = [comm.Irecv(result[other], source=other) for other in others]
    requests += [comm.Isend(x[other], dest=other) for other in others]
    mpi.waitall(requests)
    return result
