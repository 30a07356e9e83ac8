"""Takes out the raise and runs the rest as it is."""

import numpy as np

from reference import mpi

EARNS = "A blank is not filled in yet"


def average_gradients(comm, gradient, count):
    both = np.empty(gradient.size + 1)
    both[:-1] = ___  # noqa: F821
    both[-1] = ___  # noqa: F821
    comm.Allreduce(mpi.IN_PLACE, both)
    return ___  # noqa: F821
