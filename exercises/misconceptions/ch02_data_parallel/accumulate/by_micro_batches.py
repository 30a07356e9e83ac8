"""Weights by samples, divides by the number of micro-batches."""

import numpy as np

from reference import mpi

EARNS = "divided is by the number of micro-batches"


def accumulate(comm, gradients, counts, size):
    both = np.zeros(size + 1)
    for gradient, count in zip(gradients, counts):
        both[:-1] += count * gradient
        both[-1] += 1
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
