"""Returns its own part."""

import numpy as np

EARNS = "an impostor of a sum"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:]
    total, error = np.zeros_like(p), p.copy()
    total[indices] = p[indices]
    error[indices] = 0
    return total, error
