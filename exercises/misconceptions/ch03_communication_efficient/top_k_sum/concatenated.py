"""Concatenates numbers of two types, which makes float64."""

import numpy as np

EARNS = "what np.concatenate makes of float32 and integers"


def top_k_sum(comm, g, e, k):
    p = g + e
    idx = np.argsort(np.abs(p))[-k:].astype(np.int32)
    msg = np.concatenate([p[idx], idx])
    table = np.empty((comm.size, 2 * k))
    comm.Allgather(msg, table)
    total = np.zeros_like(p)
    for row in table:
        total[row[k:].astype(int)] += row[:k].astype(np.float32)
    error = p.copy()
    error[idx] = 0
    return total, error
