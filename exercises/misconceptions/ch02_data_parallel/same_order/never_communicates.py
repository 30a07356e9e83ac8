"""Returns its own."""

import numpy as np

EARNS = "That is this rank's own gradient"


def same_order(comm, gradients, sizes):
    return {name: gradients.get(name, np.zeros(size)).copy() for name, size in sizes.items()}
