"""Weights rightly, and divides by the number of ranks."""

import numpy as np

from reference import mpi

EARNS = "divided is by the number of ranks"


def average_gradients(comm, gradient, count):
    both = np.empty(gradient.size + 1)
    both[:-1] = gradient * count
    both[-1] = count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / comm.size
