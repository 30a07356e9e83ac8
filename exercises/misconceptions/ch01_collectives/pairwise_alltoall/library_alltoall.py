"""MPI has this operation, so why write it?"""

import numpy as np

EARNS = "Alltoall does the whole job"


def pairwise_alltoall(comm, x):
    result = np.empty_like(x)
    comm.Alltoall(x, result)
    return result
