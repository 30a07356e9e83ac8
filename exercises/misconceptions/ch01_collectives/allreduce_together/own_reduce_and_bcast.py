"""Reduces to rank 0 and broadcasts: two calls, twice the latency."""

import numpy as np

EARNS = "Each collective call pays its latency"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = np.empty_like(flat)
    comm.Reduce(flat, total)
    comm.Bcast(total)
    cuts = np.cumsum([array.size for array in arrays], dtype=int)
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
