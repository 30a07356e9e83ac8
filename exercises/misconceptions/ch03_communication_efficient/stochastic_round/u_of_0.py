"""Lets a whole number go up where u is 0."""

import numpy as np

EARNS = "less, or less or equal"


def stochastic_round(x, u):
    low = np.floor(x)
    return low + (u <= x - low)
