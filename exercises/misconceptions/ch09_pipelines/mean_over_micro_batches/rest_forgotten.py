"""Slices of n // m samples: the last ones are in none."""

import numpy as np

EARNS = "in no micro-batch"


def mean_over_micro_batches(gradient, X, y, m):
    total, count = 0.0, 0
    for part in [np.arange(len(y))[k * (len(y) // m) : (k + 1) * (len(y) // m)] for k in range(m)]:
        n = (y[part] >= 0).sum()
        if n:
            total += gradient(X[part], y[part]) * n
            count += n
    return total / count
