"""The counts go on their own."""

import numpy as np

from reference import mpi

EARNS = "Two calls are two latencies"


def accumulate(comm, gradients, counts, size):
    total, samples = np.zeros(size), np.array([float(sum(counts))])
    for gradient, count in zip(gradients, counts):
        total += count * gradient
    comm.Allreduce(mpi.IN_PLACE, total)
    comm.Allreduce(mpi.IN_PLACE, samples)
    return total / samples
