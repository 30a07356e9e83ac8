"""Takes the first gradient for the sum."""

import numpy as np

from reference import mpi

EARNS = "The caller still needs its gradients"


def accumulate(comm, gradients, counts, size):
    for gradient, count in zip(gradients, counts):
        gradient *= count
    for gradient in gradients[1:]:
        gradients[0] += gradient
    total = gradients[0] if gradients else np.zeros(size)
    both = np.append(total, sum(counts))
    comm.Allreduce(mpi.IN_PLACE, both)
    return both[:-1] / both[-1]
