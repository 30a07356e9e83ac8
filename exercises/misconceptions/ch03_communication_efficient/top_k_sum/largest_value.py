"""Not by magnitude."""

import numpy as np

EARNS = "-5 is more worth sending than 1"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(p)[-k:].astype(np.int32)
    all_values, all_indices = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), np.int32)
    comm.Allgather(p[indices], all_values)
    comm.Allgather(indices, all_indices)
    total = np.zeros_like(p)
    for values, places in zip(all_values, all_indices):
        total[places] += values
    error = p.copy()
    error[indices] = 0
    return total, error
