"""Returns at once if there is nothing to sum."""

import numpy as np

EARNS = "also if there is nothing to sum"


def allreduce_together(comm, arrays):
    if not arrays:
        return []
    flat = np.concatenate([array.ravel() for array in arrays])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    cuts = np.cumsum([array.size for array in arrays])
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
