"""Cuts before each array but the first, and drops what comes after the last cut."""

import numpy as np

EARNS = "Where is the joined array cut"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    cuts = np.cumsum([array.size for array in arrays], dtype=int)[:-1]
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts)[:-1], arrays)]
