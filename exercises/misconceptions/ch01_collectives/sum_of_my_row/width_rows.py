"""Takes width for the number of rows."""

import numpy as np

EARNS = "Which ranks got the same colour as rank"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // max(1, comm.size // width), comm.rank)
    total = np.empty_like(x)
    row.Allreduce(x, total)
    return total
