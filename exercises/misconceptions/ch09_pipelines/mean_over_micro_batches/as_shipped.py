"""As it is."""

import numpy as np

EARNS = "That is the mean of the micro-batches' means: a target"


def mean_over_micro_batches(gradient, X, y, m):
    total = 0.0
    for part in np.array_split(np.arange(len(y)), m):
        total += gradient(X[part], y[part]) / m
    return total
