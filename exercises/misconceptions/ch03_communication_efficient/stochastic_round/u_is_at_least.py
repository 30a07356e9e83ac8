"""Goes up where u is large."""

import numpy as np

EARNS = "2.25 should go up in one of four cases"


def stochastic_round(x, u):
    low = np.floor(x)
    return low + (u >= x - low)
