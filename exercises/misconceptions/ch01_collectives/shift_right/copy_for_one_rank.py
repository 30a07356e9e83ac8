"""Nothing to do for one rank, so block itself will do."""

import numpy as np

EARNS = "Return memory of its own"


def shift_right(comm, block):
    if comm.size == 1:
        return block
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    comm.Sendrecv(block, dest=right, recvbuf=arriving, source=left)
    return arriving
