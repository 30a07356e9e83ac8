"""Works in x itself."""

import numpy as np

EARNS = "who writes into one writes into x"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x, P)
    for step in range(2 * (P - 1)):
        leaving, here = blocks[(rank - step) % P], blocks[(rank - step - 1) % P]
        arriving = np.empty_like(here)
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        here[:] = here + arriving if step < P - 1 else arriving
    return x.copy()
