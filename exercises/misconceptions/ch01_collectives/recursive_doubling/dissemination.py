"""Sends d further on, round the circle: right for powers of two, but each rank adds in another order."""

import numpy as np

EARNS = "replicas that differ by a bit drift apart"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    total, other = x.copy(), np.empty_like(x)
    distance = 1
    while distance < P:
        comm.Sendrecv(total, dest=(rank + distance) % P, recvbuf=other, source=(rank - distance) % P)
        total += other
        distance *= 2
    return total
