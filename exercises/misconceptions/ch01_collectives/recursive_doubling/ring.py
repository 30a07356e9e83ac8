"""Passes arrays around a ring: few bytes, and P - 1 latencies."""

import numpy as np

EARNS = "That is a ring"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    total, leaving = x.copy(), x.copy()
    for _ in range(P - 1):
        arriving = np.empty_like(x)
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        total += arriving
        leaving = arriving
    return total
