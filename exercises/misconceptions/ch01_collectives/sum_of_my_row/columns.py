"""Colours with rank % width: those are the columns."""

import numpy as np

EARNS = "Which colour do the ranks of one row share"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank % width, comm.rank)
    total = np.empty_like(x)
    row.Allreduce(x, total)
    return total
