"""Divides by the last micro-batch's targets."""

import numpy as np

EARNS = "divided by the targets of the last"


def mean_over_micro_batches(gradient, X, y, m):
    total = 0.0
    for part in np.array_split(np.arange(len(y)), m):
        share = np.sum(y[part] >= 0)
        if share > 0:
            total += gradient(X[part], y[part]) * share
    return total / share
