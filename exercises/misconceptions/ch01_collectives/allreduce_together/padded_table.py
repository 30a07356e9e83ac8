"""Fills all arrays up to the longest, as lines of a table: more zeros than numbers."""

import numpy as np

EARNS = "no element of an array"


def allreduce_together(comm, arrays):
    longest = max((array.size for array in arrays), default=0)
    table = np.zeros((len(arrays), longest))
    for line, array in zip(table, arrays):
        line[: array.size] = array.ravel()
    total = np.empty_like(table)
    comm.Allreduce(table, total)
    return [line[: array.size].reshape(array.shape) for line, array in zip(total, arrays)]
