"""Takes the length from what it has added up."""

import numpy as np

from reference import mpi

EARNS = "from which to take the length"


def accumulate(comm, gradients, counts, size):
    weights = np.array(counts)[:, None]
    both = np.append((np.array(gradients) * weights).sum(axis=0), sum(counts))
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
