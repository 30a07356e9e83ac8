"""The sum for rank 0 only."""

import numpy as np

EARNS = "Reduce gives the sum to one rank only"


def average_gradients(comm, gradient, count):
    both = np.append(count * gradient, count)
    total = np.empty_like(both)
    comm.Reduce(both, total, root=0)
    return total[:-1] / total[-1]
