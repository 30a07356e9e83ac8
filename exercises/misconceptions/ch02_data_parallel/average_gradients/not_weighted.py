"""Divides the sum of means by the number of samples."""

import numpy as np

from reference import mpi

EARNS = "but what was added up are means"


def average_gradients(comm, gradient, count):
    both = np.empty(gradient.size + 1)
    both[:-1] = gradient
    both[-1] = count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
