"""Uses its own scale for all."""

import numpy as np

EARNS = "which row of what has come belongs to them"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max(keepdims=True)
    bits = np.packbits(u < (1 + g / np.maximum(s, 1e-30)) / 2)
    scales, table = np.empty(comm.size, np.float32), np.empty((comm.size, bits.size), np.uint8)
    comm.Allgather(s, scales)
    comm.Allgather(bits, table)
    total = np.zeros_like(g)
    for row in table:
        total += s * (2 * np.unpackbits(row, count=g.size).astype(np.float32) - 1)
    return total
