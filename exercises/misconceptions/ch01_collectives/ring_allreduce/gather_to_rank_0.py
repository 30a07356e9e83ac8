"""Rank 0 collects all arrays, adds them up and sends the sum to everybody: a parameter server."""

import numpy as np

EARNS = "Everything passes through rank 0"


def ring_allreduce(comm, x):
    total, other = x.copy(), np.empty_like(x)
    if comm.rank > 0:
        comm.Send(x, dest=0)
        comm.Recv(total, source=0)
        return total
    for source in range(1, comm.size):
        comm.Recv(other, source=source)
        total += other
    for dest in range(1, comm.size):
        comm.Send(total, dest=dest)
    return total
