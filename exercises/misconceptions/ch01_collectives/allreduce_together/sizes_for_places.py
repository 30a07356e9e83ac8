"""Cuts at the sizes, and not at their running sums."""

import numpy as np

EARNS = "Where does it begin, where does it end"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    return np.split(total, [array.size for array in arrays])[: len(arrays)]
