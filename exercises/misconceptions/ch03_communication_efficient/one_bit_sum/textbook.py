"""The formula that one reads, with |g| and |g[i]| over the sum."""

import numpy as np

EARNS = "That is the formula that one reads"


def one_bit_sum(comm, g, u):
    s = np.linalg.norm(g).reshape(1)
    bits = np.packbits(u < np.abs(g) / max(np.abs(g).sum(), 1e-30))
    scales, table = np.empty(comm.size, np.float32), np.empty((comm.size, bits.size), np.uint8)
    comm.Allgather(s, scales)
    comm.Allgather(bits, table)
    total = np.zeros_like(g)
    for scale, row in zip(scales, table):
        total += scale * (2 * np.unpackbits(row, count=g.size).astype(np.float32) - 1)
    return total
