"""Lets the lonely ranks call, too: nobody hangs, and all get the sum over all."""

import numpy as np

EARNS = "on which one is yours made"


def sum_of_my_row(comm, x, width):
    total = np.empty_like(x)
    comm.Allreduce(x, total)
    return total
