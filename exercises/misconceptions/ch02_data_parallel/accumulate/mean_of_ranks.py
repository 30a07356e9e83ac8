"""Right on each rank; then the mean over ranks."""

import numpy as np

from reference import mpi

EARNS = "On each rank it is right"


def accumulate(comm, gradients, counts, size):
    total = np.zeros(size)
    for gradient, count in zip(gradients, counts):
        total += gradient * count / sum(counts)
    comm.Allreduce(mpi.IN_PLACE, total)
    return total / comm.size
