"""Begins to receive, adds, and then waits."""

import numpy as np

from reference import mpi

EARNS = "had anything arrived by then"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    distance = 1
    while distance < P:
        arriving = np.zeros_like(x)
        requests = [comm.Irecv(arriving, source=rank ^ distance), comm.Isend(total.copy(), dest=rank ^ distance)]
        total += arriving
        mpi.waitall(requests)
        distance *= 2
    return total
