"""MPI knows the machine, so let it choose."""

import numpy as np

EARNS = "Allreduce does the whole job"


def hierarchical_allreduce(comm, x, per_node):
    total = np.empty_like(x)
    comm.Allreduce(x, total)
    return total
