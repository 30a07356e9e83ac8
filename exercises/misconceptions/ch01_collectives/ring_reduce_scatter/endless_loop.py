"""Waits for a condition that never holds."""

import numpy as np

EARNS = "Which condition ends it"


def ring_reduce_scatter(comm, x):
    step = 0
    while step < comm.size - 1:
        arriving = np.empty_like(x)
    return arriving
