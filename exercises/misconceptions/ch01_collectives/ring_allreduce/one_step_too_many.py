"""Goes on for one step: the result is right."""

import numpy as np

EARNS = "one step more than 2 (P - 1)"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(total, P)
    for step in range(2 * P - 1):
        here = blocks[(rank - step - 1) % P]
        arriving = np.empty_like(here)
        comm.Sendrecv(blocks[(rank - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        here[:] = here + arriving if step < P - 1 else arriving
    return total
