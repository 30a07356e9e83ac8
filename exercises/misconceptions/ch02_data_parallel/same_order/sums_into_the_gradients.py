"""Sums in place."""

import numpy as np

from reference import mpi

EARNS = "The caller still needs them: sum a copy"


def same_order(comm, gradients, sizes):
    total = {name: gradients.get(name, np.zeros(size)) for name, size in sizes.items()}
    for name in sizes:
        comm.Allreduce(mpi.IN_PLACE, total[name])
    return total
