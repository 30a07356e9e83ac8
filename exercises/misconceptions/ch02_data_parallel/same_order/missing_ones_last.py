"""Sorts its own names, and sums the others after them."""

import numpy as np

from reference import mpi

EARNS = "sum arrays of different lengths"


def same_order(comm, gradients, sizes):
    total = {}
    for name in [*sorted(gradients), *(name for name in sizes if name not in gradients)]:
        total[name] = gradients.get(name, np.zeros(sizes[name])).copy()
        comm.Allreduce(mpi.IN_PLACE, total[name])
    return total
