"""The rounds alone, for every P."""

import numpy as np

EARNS = "is no rank for some"


def recursive_doubling(comm, x):
    total, other = x.copy(), np.empty_like(x)
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
        total += other
        distance *= 2
    return total
