"""Goes up with the probability of going down."""

import numpy as np

EARNS = "a number just below the next whole one"


def stochastic_round(x, u):
    low = np.floor(x)
    return low + (u < np.ceil(x) - x)
