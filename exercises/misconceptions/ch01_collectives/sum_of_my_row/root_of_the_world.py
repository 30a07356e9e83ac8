"""Names the root of a row by its number in the world."""

import numpy as np

EARNS = "In a group, ranks count from 0 again"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    root = comm.rank // width * width
    total = np.empty_like(x)
    row.Reduce(x, total, root=root)
    row.Bcast(total, root=root)
    return total
