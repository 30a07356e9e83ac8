"""Lets each rank have a centre of its own until the end."""

import numpy as np

from reference import mpi

EARNS = "Until then each has computed with one of its own"


def replicas_that_agree(comm, weights, centre, batches, rate, limit):
    comm.Bcast(weights, root=0)
    comm.Bcast(centre, root=0)
    for x, y in batches:
        centre += 0.1 * (x.mean(axis=0) - centre)
        z = x - centre
        gradient = z.T @ (z @ weights - y) / len(y)
        comm.Allreduce(mpi.IN_PLACE, gradient)
        gradient /= comm.size
        length = np.linalg.norm(gradient)
        if length > limit:
            gradient *= limit / length
        weights -= rate * gradient
    comm.Allreduce(mpi.IN_PLACE, centre)
    return weights, centre / comm.size
