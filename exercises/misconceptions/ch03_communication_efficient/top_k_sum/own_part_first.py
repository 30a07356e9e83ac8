"""Adds its own part first, so every rank adds in another order."""

import numpy as np

EARNS = "replicas that differ by a bit drift apart"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:].astype(np.int32)
    all_values, all_indices = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), np.int32)
    comm.Allgather(p[indices], all_values)
    comm.Allgather(indices, all_indices)
    total = np.zeros_like(p)
    for step in range(comm.size):
        rank = (comm.rank + step) % comm.size
        total[all_indices[rank]] += all_values[rank]
    error = p.copy()
    error[indices] = 0
    return total, error
