"""Takes int() for the whole number below."""

import numpy as np

EARNS = "go up, towards 0"


def stochastic_round(x, u):
    low = np.trunc(x)
    return low + (u < x - low)
