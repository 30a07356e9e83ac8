"""Takes out the raise and runs the rest as it is: the group is made and never used."""

import numpy as np

EARNS = "which of its ranks never come to that line"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    total = np.empty_like(x)
    if row.size > 1:
        comm.Allreduce(x, total)
    else:
        total[:] = x
    return total
