"""Gathers the sparse vectors with all their zeros."""

import numpy as np

EARNS = "The dense vector was sent"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:]
    sent, error = np.zeros_like(p), p.copy()
    sent[indices] = p[indices]
    error[indices] = 0
    table = np.empty((comm.size, p.size), np.float32)
    comm.Allgather(sent, table)
    return table.sum(axis=0), error
