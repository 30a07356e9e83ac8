"""Begins from the whole number above."""

import numpy as np

EARNS = "ceil where floor is meant"


def stochastic_round(x, u):
    low = np.ceil(x)
    return low + (u < x - np.floor(x))
