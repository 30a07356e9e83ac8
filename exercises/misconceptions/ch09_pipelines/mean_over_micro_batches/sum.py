"""Returns the sum over all targets."""

import numpy as np

EARNS = "That is the sum over all targets that count"


def mean_over_micro_batches(gradient, X, y, m):
    total = 0.0
    for part in np.array_split(np.arange(len(y)), m):
        share = np.sum(y[part] >= 0)
        if share > 0:
            total += gradient(X[part], y[part]) * share
    return total
