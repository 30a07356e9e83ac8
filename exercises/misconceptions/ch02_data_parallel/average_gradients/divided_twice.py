"""Divides by the samples, and by the ranks, to be sure."""

import numpy as np

from reference import mpi

EARNS = "the ranks do not matter any more"


def average_gradients(comm, gradient, count):
    both = np.empty(gradient.size + 1)
    both[:-1] = gradient * count
    both[-1] = count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1] / comm.size
