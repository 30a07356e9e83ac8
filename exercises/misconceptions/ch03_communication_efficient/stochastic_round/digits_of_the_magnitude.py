"""Takes what stands behind the point for the distance."""

import numpy as np

EARNS = "stands its distance from -2"


def stochastic_round(x, u):
    low = np.floor(x)
    return low + (u < np.abs(x) % 1)
