"""Takes targets above 0 for those that count."""

import numpy as np

EARNS = "at least 0, and not above"


def mean_over_micro_batches(gradient, X, y, m):
    total, count = 0.0, 0
    for part in np.array_split(np.arange(len(y)), m):
        n = (y[part] > 0).sum()
        if n:
            total += gradient(X[part], y[part]) * n
            count += n
    return total / count
