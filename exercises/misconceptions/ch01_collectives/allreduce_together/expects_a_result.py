"""Expects Allreduce to return the sum."""

import numpy as np

EARNS = "A call with a capital letter returns nothing"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = comm.Allreduce(flat)
    cuts = np.cumsum([array.size for array in arrays], dtype=int)
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
