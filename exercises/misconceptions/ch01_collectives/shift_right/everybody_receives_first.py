"""Exchanges the two lines: now nobody ever sends."""

import numpy as np

EARNS = "nobody is left to send"


def shift_right(comm, block):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arriving = np.empty_like(block)
    comm.Recv(arriving, source=left)
    comm.Send(block, dest=right)
    return arriving
