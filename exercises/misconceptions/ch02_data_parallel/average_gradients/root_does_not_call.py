"""Rank 0 has the sum already, it thinks."""

import numpy as np

from reference import mpi

EARNS = "Which rank does not?"


def average_gradients(comm, gradient, count):
    both = np.append(count * gradient, count)
    if comm.rank > 0:
        comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
