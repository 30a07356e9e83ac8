"""Breaks the circle at rank 0, which hangs when rank 0 is all there is."""

import numpy as np

EARNS = "With one rank, both neighbours are the rank itself"


def shift_right(comm, block):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    if comm.rank == 0:
        comm.Recv(arriving, source=left)
        comm.Send(block, dest=right)
    else:
        comm.Send(block, dest=right)
        comm.Recv(arriving, source=left)
    return arriving
