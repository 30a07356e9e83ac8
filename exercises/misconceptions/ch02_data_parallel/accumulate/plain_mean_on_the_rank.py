"""On each rank the plain mean of the micro-batches, then weighted."""

import numpy as np

from reference import mpi

EARNS = "Between the ranks the weights are right"


def accumulate(comm, gradients, counts, size):
    both = np.zeros(size + 1)
    if gradients:
        both[:-1] = sum(gradients) / len(gradients) * sum(counts)
    both[-1] = sum(counts)
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
