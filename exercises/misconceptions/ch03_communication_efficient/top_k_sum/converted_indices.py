"""Sends the indices as numbers of 32 bits, which are no integers any more."""

import numpy as np

EARNS = "Indices that travelled as float32"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:]
    table = np.empty((comm.size, 2 * k), np.float32)
    comm.Allgather(np.concatenate([p[indices], indices.astype(np.float32)]), table)
    total, error = np.zeros_like(p), p.copy()
    for row in table:
        total[row[k:]] += row[:k]
    error[indices] = 0
    return total, error
