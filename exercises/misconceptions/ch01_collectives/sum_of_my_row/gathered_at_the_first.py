"""The first rank of the row adds up, and keeps it to itself."""

import numpy as np

EARNS = "Did the result of the row come to all ranks"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    table = np.empty((row.size, x.size)) if row.rank == 0 else None
    row.Gather(x, table, root=0)
    return table.sum(axis=0) if row.rank == 0 else x.copy()
