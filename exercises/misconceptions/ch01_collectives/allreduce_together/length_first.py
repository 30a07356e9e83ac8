"""Agrees on the length before it sends the data."""

import numpy as np

EARNS = "agree on a length"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    length = np.array([float(flat.size)])
    comm.Allreduce(np.array([float(flat.size)]), length)
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    cuts = np.cumsum([array.size for array in arrays], dtype=int)
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
