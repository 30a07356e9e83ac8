"""One call, with a row for each micro-batch."""

import numpy as np

from reference import mpi

EARNS = "The micro-batches travel one by one"


def accumulate(comm, gradients, counts, size):
    rows = np.zeros((16, size + 1))
    for row, gradient, count in zip(rows, gradients, counts):
        row[:-1], row[-1] = count * gradient, count
    comm.Allreduce(mpi.IN_PLACE, rows)
    both = rows.sum(axis=0)
    return both[:-1] / both[-1]
