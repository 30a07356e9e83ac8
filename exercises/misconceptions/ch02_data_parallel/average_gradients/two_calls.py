"""One call for the gradients, one for the counts."""

import numpy as np

from reference import mpi

EARNS = "costs no latency of its own"


def average_gradients(comm, gradient, count):
    total, samples = gradient * count, np.array([float(count)])
    comm.Allreduce(mpi.IN_PLACE, total)
    comm.Allreduce(mpi.IN_PLACE, samples)
    return total / samples
