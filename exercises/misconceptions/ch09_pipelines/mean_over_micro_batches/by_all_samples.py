"""Divides the sum by all samples."""

import numpy as np

EARNS = "divided by all samples"


def mean_over_micro_batches(gradient, X, y, m):
    total, count = 0.0, len(y)
    for part in np.array_split(np.arange(len(y)), m):
        share = np.sum(y[part] >= 0) / count
        if share > 0:
            total += gradient(X[part], y[part]) * share
    return total
