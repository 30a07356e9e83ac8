"""Goes round five times before it stops at the right place."""

import numpy as np

EARNS = "The blocks went on and on, rank"


def shift_right(comm, block):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    current = block.copy()
    for _ in range(5 * comm.size + 1):
        comm.Sendrecv(current, dest=right, recvbuf=arriving, source=left)
        current = arriving.copy()
    return current
