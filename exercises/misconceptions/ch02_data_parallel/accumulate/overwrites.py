"""Writes where it should add."""

import numpy as np

from reference import mpi

EARNS = "others are overwritten"


def accumulate(comm, gradients, counts, size):
    both = np.zeros(size + 1)
    for gradient, count in zip(gradients, counts):
        both[:-1] = count * gradient
        both[-1] = count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
