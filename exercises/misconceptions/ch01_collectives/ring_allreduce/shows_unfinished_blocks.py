"""The first half leaves block r + 1 on rank r, the second half begins with block r."""

import numpy as np

EARNS = "from a rank on which it was not complete"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total = x.copy()
    blocks = np.array_split(total, P)
    for step in range(P - 1):
        growing = blocks[(rank - 1 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - step) % P], dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    for step in range(P - 1):
        comm.Sendrecv(
            blocks[(rank - step) % P],
            dest=(rank + 1) % P,
            recvbuf=blocks[(rank - 1 - step) % P],
            source=(rank - 1) % P,
        )
    return total
