"""Divides by the size of the row."""

import numpy as np

EARNS = "not the mean"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    total = np.empty_like(x)
    row.Allreduce(x, total)
    return total / row.size
