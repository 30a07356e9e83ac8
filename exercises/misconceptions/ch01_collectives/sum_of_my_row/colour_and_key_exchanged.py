"""The arguments of Split in the wrong order."""

import numpy as np

EARNS = "a colour of its own"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank, comm.rank // width)
    total = np.empty_like(x)
    row.Allreduce(x, total)
    return total
