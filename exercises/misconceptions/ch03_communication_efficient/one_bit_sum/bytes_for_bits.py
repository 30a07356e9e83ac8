"""Sends booleans."""

import numpy as np

EARNS = "A byte for each bit"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max(keepdims=True)
    bits = (u < (1 + g / np.maximum(s, 1e-30)) / 2).astype(np.uint8)
    scales, table = np.empty(comm.size, np.float32), np.empty((comm.size, bits.size), np.uint8)
    comm.Allgather(s, scales)
    comm.Allgather(bits, table)
    total = np.zeros_like(g)
    for scale, row in zip(scales, table):
        total += scale * (2 * row.astype(np.float32) - 1)
    return total
