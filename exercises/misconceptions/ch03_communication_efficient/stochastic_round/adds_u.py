"""Adds u and rounds down: right on average."""

import numpy as np

EARNS = "On average that is right as well"


def stochastic_round(x, u):
    return np.floor(x + u)
