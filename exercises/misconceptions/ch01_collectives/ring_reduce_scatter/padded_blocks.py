"""Fills x up with zeros so that all blocks are equal, and sends the padding along."""

import numpy as np

EARNS = "You sent blocks of one size"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    parts = np.array_split(x, P)
    blocks = np.zeros((P, parts[0].size))
    for block, part in zip(blocks, parts):
        block[: part.size] = part
    for step in range(P - 1):
        arriving = np.empty_like(blocks[0])
        comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        blocks[(rank - 2 - step) % P] += arriving
    return blocks[rank][: parts[rank].size].copy()
