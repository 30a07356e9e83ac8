"""The mean first, then the distances from it."""

import numpy as np

from reference import mpi

EARNS = "Two calls: the mean first"


def batch_statistics(comm, x):
    both = np.append(x.sum(axis=0), len(x))
    comm.Allreduce(mpi.IN_PLACE, both)
    mean = both[:-1] / both[-1]
    squares = ((x - mean) ** 2).sum(axis=0)
    comm.Allreduce(mpi.IN_PLACE, squares)
    return mean, squares / both[-1]
