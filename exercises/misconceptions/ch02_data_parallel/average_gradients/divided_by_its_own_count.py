"""Divides by the count of its own."""

import numpy as np

from reference import mpi

EARNS = "Each rank divides by its own count"


def average_gradients(comm, gradient, count):
    both = np.empty(gradient.size + 1)
    both[:-1] = gradient * count
    both[-1] = count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / max(count, 1)
