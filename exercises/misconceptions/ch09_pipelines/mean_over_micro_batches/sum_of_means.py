"""Adds up the means."""

import numpy as np

EARNS = "The micro-batches' means are added up"


def mean_over_micro_batches(gradient, X, y, m):
    total, count = 0.0, np.sum(y >= 0)
    for part in np.array_split(np.arange(len(y)), m):
        share = np.sum(y[part] >= 0) / count
        if share > 0:
            total += gradient(X[part], y[part])
    return total
