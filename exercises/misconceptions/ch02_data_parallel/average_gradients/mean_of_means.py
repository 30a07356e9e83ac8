"""The mean over ranks, as frameworks take it."""

import numpy as np

from reference import mpi

EARNS = "That is the mean of the ranks' means"


def average_gradients(comm, gradient, count):
    both = np.empty(gradient.size + 1)
    both[:-1] = gradient
    both[-1] = 1
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
