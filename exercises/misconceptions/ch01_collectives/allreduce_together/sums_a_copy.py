"""Sums in place, in a copy that nobody looks at again."""

import numpy as np

from reference import mpi

EARNS = "the sum went somewhere else"


def allreduce_together(comm, arrays):
    sums = [array.copy() for array in arrays]
    comm.Allreduce(mpi.IN_PLACE, np.concatenate([np.empty(0), *map(np.ravel, sums)]))
    return sums
