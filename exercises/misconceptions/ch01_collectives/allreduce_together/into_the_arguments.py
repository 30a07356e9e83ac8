"""Writes the sums back into the arrays, as an optimizer would like."""

import numpy as np

EARNS = "The caller still needs its arrays"


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = np.empty_like(flat)
    comm.Allreduce(flat, total)
    begin = 0
    for array in arrays:
        array[...] = total[begin : begin + array.size].reshape(array.shape)
        begin += array.size
    return [array.copy() for array in arrays]
