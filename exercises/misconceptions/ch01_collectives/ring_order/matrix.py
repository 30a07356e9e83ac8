"""Returns the matrix in a new order."""

import numpy as np

EARNS = "It should return a list of the numbers"


def ring_order(seconds):
    order = np.argsort(seconds[0])
    return seconds[order][:, order]
