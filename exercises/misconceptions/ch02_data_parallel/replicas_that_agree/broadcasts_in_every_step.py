"""Repairs nothing, and broadcasts after every step."""

import numpy as np

from reference import mpi

EARNS = "a broadcast hides that the replicas differ"


def replicas_that_agree(comm, weights, centre, batches, rate, limit):
    comm.Bcast(weights, root=0)
    comm.Bcast(centre, root=0)
    for x, y in batches:
        centre += 0.1 * (x.mean(axis=0) - centre)
        z = x - centre
        gradient = z.T @ (z @ weights - y) / len(y)
        length = np.linalg.norm(gradient)
        comm.Allreduce(mpi.IN_PLACE, gradient)
        gradient /= comm.size
        if length > limit:
            gradient *= limit / length
        weights -= rate * gradient
        comm.Bcast(weights, root=0)
        comm.Bcast(centre, root=0)
    return weights, centre
