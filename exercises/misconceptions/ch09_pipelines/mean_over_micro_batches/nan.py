"""Multiplies NaN by 0."""

import numpy as np

EARNS = "0 times NaN is NaN"


def mean_over_micro_batches(gradient, X, y, m):
    total, count = 0.0, np.sum(y >= 0)
    for part in np.array_split(np.arange(len(y)), m):
        share = np.sum(y[part] >= 0) / count
        total += gradient(X[part], y[part]) * share
    return total
