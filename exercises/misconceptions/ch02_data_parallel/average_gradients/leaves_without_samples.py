"""A rank without samples returns at once."""

import numpy as np

from reference import mpi

EARNS = "A rank without samples has nothing to add"


def average_gradients(comm, gradient, count):
    if count == 0:
        return gradient.copy()
    both = np.append(count * gradient, count)
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
