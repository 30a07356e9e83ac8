"""Compares u with x."""

import numpy as np

EARNS = "u is compared with x itself"


def stochastic_round(x, u):
    low = np.floor(x)
    return low + (u < x)
