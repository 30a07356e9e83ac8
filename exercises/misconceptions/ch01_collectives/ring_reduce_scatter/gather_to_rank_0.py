"""Rank 0 collects all arrays, adds them up and hands out the blocks: a parameter server."""

import numpy as np

EARNS = "Everything passes through rank 0"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    if rank > 0:
        mine = np.empty(np.array_split(x, P)[rank].size)
        comm.Send(x, dest=0)
        comm.Recv(mine, source=0)
        return mine
    total, other = x.copy(), np.empty_like(x)
    for source in range(1, P):
        comm.Recv(other, source=source)
        total += other
    blocks = np.array_split(total, P)
    for dest in range(1, P):
        comm.Send(blocks[dest], dest=dest)
    return blocks[0].copy()
