"""Stacks arrays of one shape and calls once for each shape."""

import numpy as np

EARNS = "Arrays of one shape together is a beginning"


def allreduce_together(comm, arrays):
    sums = [None] * len(arrays)
    for shape in {array.shape for array in arrays}:
        places = [place for place, array in enumerate(arrays) if array.shape == shape]
        stack = np.stack([arrays[place] for place in places])
        total = np.empty_like(stack)
        comm.Allreduce(stack, total)
        for place, part in zip(places, total):
            sums[place] = part
    return sums
