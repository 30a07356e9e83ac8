"""Takes out the raise and runs the rest as it is."""

import numpy as np

from reference import mpi

EARNS = "The ranks begin with different centres"


def replicas_that_agree(comm, weights, centre, batches, rate, limit):
    comm.Bcast(weights, root=0)
    for x, y in batches:
        centre += 0.1 * (x.mean(axis=0) - centre)
        z = x - centre
        gradient = z.T @ (z @ weights - y) / len(y)  # of half the mean of squared errors
        length = np.linalg.norm(gradient)
        comm.Allreduce(mpi.IN_PLACE, gradient)
        gradient /= comm.size
        if length > limit:
            gradient *= limit / length
        weights -= rate * gradient
    return weights, centre
