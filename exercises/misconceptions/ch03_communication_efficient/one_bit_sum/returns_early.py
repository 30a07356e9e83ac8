"""Returns at once if its own gradient is 0."""

import numpy as np

EARNS = "A collective must be called by every rank"


def one_bit_sum(comm, g, u):
    d = len(g)
    s = np.float32(np.abs(g).max())
    if s == 0:
        return np.zeros(d, np.float32)
    if s > 0:
        bits = u < (1 + g.astype(np.float64) / s) / 2
    else:
        bits = np.zeros(d, bool)
    msg = np.concatenate([np.array([s], np.float32).view(np.uint8), np.packbits(bits)])
    table = np.empty((comm.size, len(msg)), np.uint8)
    comm.Allgather(msg, table)
    total = np.zeros(d, np.float32)
    for row in table:
        sr = row[:4].copy().view(np.float32)[0]
        b = np.unpackbits(row[4:], count=d)
        total += np.where(b == 1, sr, -sr).astype(np.float32)
    return total
