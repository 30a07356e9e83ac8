"""Unpacks all ranks' bytes in one go."""

import numpy as np

EARNS = "the bits stand in the wrong places"


def one_bit_sum(comm, g, u):
    d = len(g)
    s = np.abs(g).max()
    bits = np.packbits(u < (1 + g / (s or 1)) / 2)
    S = np.empty(comm.size, np.float32)
    B = np.empty((comm.size, len(bits)), np.uint8)
    comm.Allgather(np.array([s]), S)
    comm.Allgather(bits, B)
    B = np.unpackbits(B)[: comm.size * d].reshape(comm.size, d)
    return (S[:, None] * (2.0 * B - 1)).sum(0).astype(np.float32)
