"""Returns the place of each rank, not the rank in each place."""

import numpy as np

EARNS = "Your list says at which place each rank stands"


def ring_order(seconds):
    order, left = [0], set(range(1, len(seconds)))
    while left:
        order.append(min(left, key=lambda rank: seconds[order[-1], rank]))
        left.remove(order[-1])
    return np.argsort(order).tolist()
