"""Adds into the array that is still being sent: small messages arrive all the same, large ones are damaged."""

import numpy as np

EARNS = "Until the request has been waited for"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    right, left = (rank + 1) % P, (rank - 1) % P
    travelling = np.empty(len(blocks[0]))
    travelling[: len(blocks[(rank - 1) % P])] = blocks[(rank - 1) % P]
    size = len(blocks[(rank - 1) % P])
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        request = comm.Isend(travelling[:size], dest=right)
        comm.Recv(arriving, source=left)
        size = len(growing)
        travelling[:size] = growing + arriving
        request.Wait()
    return travelling[:size].copy() if P > 1 else x.copy()
