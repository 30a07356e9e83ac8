"""Rounds the magnitude, and puts the sign back."""

import numpy as np

EARNS = "goes away from 0"


def stochastic_round(x, u):
    return np.sign(x) * (np.floor(np.abs(x)) + (u < np.abs(x) % 1))
