"""Begins from the nearest whole number."""

import numpy as np

EARNS = "It begins from the nearest whole number"


def stochastic_round(x, u):
    low = np.round(x)
    return low + (u < x - np.floor(x))
