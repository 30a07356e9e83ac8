"""Quantises its own gradient and returns that."""

import numpy as np

EARNS = "an impostor of a sum"


def one_bit_sum(comm, g, u):
    s = np.abs(g).max()
    return np.where(2 * s * u < s + g, s, -s)
