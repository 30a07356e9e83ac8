"""Measures the distance from the nearest whole number."""

import numpy as np

EARNS = "never goes down, so the mean is too large"


def stochastic_round(x, u):
    low = np.round(x)
    return low + (u < x - low)
