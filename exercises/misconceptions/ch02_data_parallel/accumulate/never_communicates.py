"""Averages what it has itself."""

import numpy as np

EARNS = "Nothing was sent: each rank has"


def accumulate(comm, gradients, counts, size):
    both = np.zeros(size + 1)
    for gradient, count in zip(gradients, counts):
        both[:-1] += count * gradient
        both[-1] += count
    return both[:-1] / both[-1]
