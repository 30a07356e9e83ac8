"""MPI has this operation, so why write it?"""

import numpy as np

EARNS = "Allreduce does the whole job"


def ring_allreduce(comm, x):
    total = np.empty_like(x)
    comm.Allreduce(x, total)
    return total
