"""Reduces the quantised gradients."""

import numpy as np

from reference import mpi

EARNS = "reduced they would be d whole numbers again"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max() or np.float32(1)
    q = np.where(u < (1 + g / s) / 2, s, -s).astype(np.float32) * (g.any())
    comm.Allreduce(mpi.IN_PLACE, q)
    return q
