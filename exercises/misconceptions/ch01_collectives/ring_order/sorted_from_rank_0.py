"""Sorted by the way from rank 0."""

import numpy as np

EARNS = "They are sorted by their way from"


def ring_order(seconds):
    return np.argsort(seconds[0], kind="stable").tolist()
