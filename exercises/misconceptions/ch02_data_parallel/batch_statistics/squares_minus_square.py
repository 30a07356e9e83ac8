"""The mean of the squares minus the square of the mean."""

import numpy as np

from reference import mpi

EARNS = "Many digits are lost"


def batch_statistics(comm, x):
    k = x.shape[1]
    both = np.concatenate([x.sum(axis=0), (x * x).sum(axis=0), [len(x)]])
    comm.Allreduce(mpi.IN_PLACE, both)
    mean = both[:k] / both[-1]
    return mean, both[k:-1] / both[-1] - mean**2
