"""Breaks the circle at rank 0, and the messages go one after the other."""

import numpy as np

EARNS = "along a chain"


def shift_right(comm, block):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    if comm.size == 1:
        return block.copy()
    if comm.rank == 0:
        comm.Send(block, dest=right)
        comm.Recv(arriving, source=left)
    else:
        comm.Recv(arriving, source=left)
        comm.Send(block, dest=right)
    return arriving
