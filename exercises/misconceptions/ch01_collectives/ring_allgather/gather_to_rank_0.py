"""Rank 0 collects all blocks and sends the lot to everybody."""

import numpy as np

EARNS = "Everything passes through rank 0"


def ring_allgather(comm, block, lengths):
    gathered = np.empty(sum(lengths))
    if comm.rank > 0:
        comm.Send(block, dest=0)
        comm.Recv(gathered, source=0)
        return gathered
    blocks = [block, *(np.empty(length) for length in lengths[1:])]
    for source in range(1, comm.size):
        comm.Recv(blocks[source], source=source)
    gathered = np.concatenate(blocks)
    for dest in range(1, comm.size):
        comm.Send(gathered, dest=dest)
    return gathered
