"""Sums a table with a line for every row over all ranks: right, and every row waits for all."""

import numpy as np

EARNS = "Rows should not know of each other"


def sum_of_my_row(comm, x, width):
    rows = -(-comm.size // width)
    mine, total = np.zeros((rows, x.size)), np.empty((rows, x.size))
    mine[comm.rank // width] = x
    comm.Allreduce(mine, total)
    return total[comm.rank // width].copy()
