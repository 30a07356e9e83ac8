"""Everybody sends, then everybody receives. It works as long as MPI buffers small messages."""

import numpy as np

EARNS = "Send may wait until its message is received"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    for step in range(P - 1):
        leaving = blocks[(rank - 1 - step) % P]
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Send(leaving, dest=right)
        comm.Recv(arriving, source=left)
        growing += arriving
    return blocks[rank]
