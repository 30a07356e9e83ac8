"""Gathers all dictionaries and adds them up."""

import numpy as np

EARNS = "pickles its object"


def same_order(comm, gradients, sizes):
    total = {name: np.zeros(size) for name, size in sizes.items()}
    for other in comm.allgather(gradients):
        for name, gradient in other.items():
            total[name] += gradient
    return total
