"""Sends the magnitudes."""

import numpy as np

EARNS = "The magnitudes were sent"


def top_k_sum(comm, g, e, k):
    p = g + e
    idx = np.argsort(np.abs(p))[-k:].astype(np.int32)
    msg = np.concatenate([np.abs(p)[idx], idx.view(np.float32)])
    table = np.empty((comm.size, 2 * k), np.float32)
    comm.Allgather(msg, table)
    total = np.zeros_like(p)
    for row in table:
        total[row[k:].view(np.int32)] += row[:k]
    error = p.copy()
    error[idx] = 0
    return total, error
