"""Breaks the circle in pairs, and forgets that rank 0 may be alone."""

import numpy as np

EARNS = "With one rank, both neighbours are the rank itself"


def shift_right(comm, block):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    if comm.rank % 2 == 0:
        comm.Send(block, dest=right)
        comm.Recv(arriving, source=left)
    else:
        comm.Recv(arriving, source=left)
        comm.Send(block, dest=right)
    return arriving
