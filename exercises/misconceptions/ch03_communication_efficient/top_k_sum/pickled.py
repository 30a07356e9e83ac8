"""Lists of tuples, with the call in small letters."""

import numpy as np

EARNS = "pickles its object"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:]
    total, error = np.zeros_like(p), p.copy()
    for values, places in comm.allgather((p[indices], indices)):
        total[places] += values
    error[indices] = 0
    return total, error
