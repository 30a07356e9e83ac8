"""Returns centre and weights."""

import numpy as np

from reference import mpi

EARNS = "The right arrays, the wrong way round"


def replicas_that_agree(comm, weights, centre, batches, rate, limit):
    comm.Bcast(weights, root=0)
    comm.Bcast(centre, root=0)
    for x, y in batches:
        mean = x.mean(axis=0)
        comm.Allreduce(mpi.IN_PLACE, mean)
        centre += 0.1 * (mean / comm.size - centre)
        z = x - centre
        gradient = z.T @ (z @ weights - y) / len(y)
        comm.Allreduce(mpi.IN_PLACE, gradient)
        gradient /= comm.size
        length = np.linalg.norm(gradient)
        if length > limit:
            gradient *= limit / length
        weights -= rate * gradient
    return centre, weights
