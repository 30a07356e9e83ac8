"""The scale as float64."""

import numpy as np

EARNS = "The scale travels in 8 bytes"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max(keepdims=True).astype(float)
    bits = np.packbits(u < (1 + g / np.maximum(s, 1e-30)) / 2)
    scales, table = np.empty(comm.size), np.empty((comm.size, bits.size), np.uint8)
    comm.Allgather(s, scales)
    comm.Allgather(bits, table)
    total = np.zeros_like(g)
    for scale, row in zip(scales, table):
        total += np.float32(scale) * (2 * np.unpackbits(row, count=g.size).astype(np.float32) - 1)
    return total
