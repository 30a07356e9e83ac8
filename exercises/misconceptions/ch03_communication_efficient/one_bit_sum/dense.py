"""Quantises, and sends 32 bits for each."""

import numpy as np

EARNS = "it has two different numbers now"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max()
    table = np.empty((comm.size, g.size), np.float32)
    comm.Allgather(np.where(2 * s * u < s + g, s, -s), table)
    return table.sum(axis=0)
