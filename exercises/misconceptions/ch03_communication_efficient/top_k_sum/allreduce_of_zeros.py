"""Reduces the sparse vectors with all their zeros."""

import numpy as np

from reference import mpi

EARNS = "compressed on paper, and not on the wire"


def top_k_sum(comm, g, e, k):
    p = g + e
    indices = np.argsort(np.abs(p))[-k:]
    total, error = np.zeros_like(p), p.copy()
    total[indices] = p[indices]
    error[indices] = 0
    comm.Allreduce(mpi.IN_PLACE, total)
    return total, error
