"""The mean of the ranks' statistics."""

import numpy as np

from reference import mpi

EARNS = "That is the mean of the ranks' means"


def batch_statistics(comm, x):
    k = x.shape[1]
    both = np.concatenate([x.mean(axis=0), x.var(axis=0)])
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:k] / comm.size, both[k:] / comm.size
