"""Rounds down."""

import numpy as np

EARNS = "All is rounded down"


def stochastic_round(x, u):
    return np.floor(x)
