"""Rounds to nearest."""

import numpy as np

EARNS = "rounded to nearest, and not at random"


def stochastic_round(x, u):
    return np.round(x)
