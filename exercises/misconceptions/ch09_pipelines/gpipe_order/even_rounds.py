"""All rounds are of nearly the same length."""

import math

import numpy as np

EARNS = "only the last may be shorter"


def gpipe_order(m, fits):
    order = []
    for group in np.array_split(np.arange(m), math.ceil(m / fits)):
        order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
    return order
