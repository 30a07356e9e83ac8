"""MPI has this operation, so why write it?"""

import numpy as np

EARNS = "Reduce_scatter does the whole job"


def ring_reduce_scatter(comm, x):
    counts = [block.size for block in np.array_split(x, comm.size)]
    mine = np.empty(counts[comm.rank])
    comm.Reduce_scatter(x, mine, counts)
    return mine
