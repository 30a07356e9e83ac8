"""Strikes out in the caller's array who is in the ring already."""

import numpy as np

EARNS = "The caller still needs its seconds"


def ring_order(seconds):
    order = [0]
    np.fill_diagonal(seconds, np.inf)
    while len(order) < len(seconds):
        seconds[:, order[-1]] = np.inf
        order.append(int(np.argmin(seconds[order[-1]])))
    return order
