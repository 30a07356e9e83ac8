"""Up with x - floor(x), down with ceil(x) - x, and neither for whole numbers."""

import numpy as np

EARNS = "Two whole numbers are next to x"


def stochastic_round(x, u):
    up, down = x - np.floor(x), np.ceil(x) - x
    return np.floor(x) * (u >= 1 - down) + np.ceil(x) * (u < up)
