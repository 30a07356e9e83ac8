"""Returns the two in the other order."""

import numpy as np

EARNS = "The order is (total, error)"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:].astype(np.int32)
    all_values, all_indices = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), np.int32)
    comm.Allgather(p[indices], all_values)
    comm.Allgather(indices, all_indices)
    total = np.zeros_like(p)
    for values, places in zip(all_values, all_indices):
        total[places] += values
    error = p.copy()
    error[indices] = 0
    return error, total
