"""Divides by its own count before the sum, and so by 0 on a rank without samples."""

import numpy as np

from reference import mpi

EARNS = "Which rank has no samples"


def average_gradients(comm, gradient, count):
    with np.errstate(all="ignore"):
        both = np.append(gradient * count / count, 1.0) * count
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
