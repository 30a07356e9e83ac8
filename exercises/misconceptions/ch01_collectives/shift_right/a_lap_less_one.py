"""Reads "ring" and passes the blocks on, P - 1 times."""

import numpy as np

EARNS = "a full lap less one"


def shift_right(comm, block):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    current = block.copy()
    for _ in range(comm.size - 1):
        comm.Sendrecv(current, dest=right, recvbuf=arriving, source=left)
        current = arriving.copy()
    return current
