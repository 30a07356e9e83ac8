"""All-reduces the first micro-batch, and adds the others."""

import numpy as np

from reference import mpi

EARNS = "Was something added after the Allreduce"


def accumulate(comm, gradients, counts, size):
    both = np.zeros(size + 1)
    rest = np.zeros(size + 1)
    for k, (gradient, count) in enumerate(zip(gradients, counts)):
        (rest if k else both)[:] += np.append(count * gradient, count)
    comm.Allreduce(mpi.IN_PLACE, both)
    both += rest
    return both[:-1] / both[-1]
