"""Takes the sizes for the places where to cut."""

import numpy as np

EARNS = "and are not the sizes"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    parts = np.split(total, [array.size for array in arrays])
    return [part.reshape(array.shape) for part, array in zip(parts, arrays)]
