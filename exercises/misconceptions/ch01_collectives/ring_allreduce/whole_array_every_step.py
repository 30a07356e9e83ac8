"""The right 2 (P - 1) steps, but all of x goes out in each, and only a block of it is used."""

import numpy as np

EARNS = "You sent the whole array in every step"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(np.arange(x.size), P)
    for step in range(2 * (P - 1)):
        arriving = np.empty_like(x)
        comm.Sendrecv(total, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        here = blocks[(rank - step - 1) % P]
        total[here] = total[here] + arriving[here] if step < P - 1 else arriving[here]
    return total
