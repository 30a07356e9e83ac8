"""All of x travels around the ring in every step, and is cut at the end."""

import numpy as np

EARNS = "You sent the whole array in every step"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    total, travelling = x.copy(), x.copy()
    for _ in range(P - 1):
        arriving = np.empty_like(x)
        comm.Sendrecv(travelling, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        total += arriving
        travelling = arriving
    return np.array_split(total, P)[rank].copy()
