"""np.concatenate of arrays as they are."""

import numpy as np

EARNS = "these arrays have different ones"


def allreduce_together(comm, arrays):
    flat = np.concatenate(arrays)
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    return np.split(total, len(arrays))
