"""Begins from above."""

import numpy as np

EARNS = "all is rounded up"


def stochastic_round(x, u):
    low = np.ceil(x)
    return low + (u < x - low)
