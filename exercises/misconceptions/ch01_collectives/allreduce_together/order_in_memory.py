"""Flattens arrays in the order in which they lie in memory: transposed ones come out mixed up."""

import numpy as np

EARNS = "A transposed array lies differently in memory"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *(array.ravel(order="K") for array in arrays)])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    cuts = np.cumsum([array.size for array in arrays], dtype=int)
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
