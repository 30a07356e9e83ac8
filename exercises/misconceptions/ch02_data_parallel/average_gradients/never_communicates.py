"""Returns its own mean."""

import numpy as np

from reference import mpi

EARNS = "That is this rank's gradient alone"


def average_gradients(comm, gradient, count):
    both = np.append(gradient, 1.0)
    comm.Allreduce(mpi.IN_PLACE, both)
    return gradient.copy()
