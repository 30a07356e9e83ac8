"""Tosses a coin."""

import numpy as np

EARNS = "goes up with probability 1/2"


def stochastic_round(x, u):
    low = np.floor(x)
    return low + (u < 0.5)
