"""Sends argsort's int64."""

import numpy as np

EARNS = "Somewhere 64 bits travel"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:]
    all_values, all_indices = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), np.int64)
    comm.Allgather(p[indices], all_values)
    comm.Allgather(indices, all_indices)
    total = np.zeros_like(p)
    for values, places in zip(all_values, all_indices):
        total[places] += values
    error = p.copy()
    error[indices] = 0
    return total, error
