"""Adds up means and divides by the number of samples."""

import numpy as np

from reference import mpi

EARNS = "but what was added up are means"


def accumulate(comm, gradients, counts, size):
    both = np.zeros(size + 1)
    both[:-1] = sum(gradients)
    both[-1] = sum(counts)
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
