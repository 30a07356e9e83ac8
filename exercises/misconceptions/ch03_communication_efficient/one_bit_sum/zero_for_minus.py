"""A bit of 0 is 0."""

import numpy as np

EARNS = "It stands for -s"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max(keepdims=True)
    bits = np.packbits(u < (1 + g / np.maximum(s, 1e-30)) / 2)
    scales, table = np.empty(comm.size, np.float32), np.empty((comm.size, bits.size), np.uint8)
    comm.Allgather(s, scales)
    comm.Allgather(bits, table)
    total = np.zeros_like(g)
    for scale, row in zip(scales, table):
        total += scale * np.unpackbits(row, count=g.size)
    return total
