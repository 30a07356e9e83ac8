"""Every rank fills its rows of a table of all."""

import numpy as np

from reference import mpi

EARNS = "do rows of x travel?"


def batch_statistics(comm, x):
    most = 100
    table = np.zeros((comm.size, most, x.shape[1] + 1))
    table[comm.rank, : len(x), :-1] = x
    table[comm.rank, : len(x), -1] = 1
    comm.Allreduce(mpi.IN_PLACE, table)
    rows = table[table[..., -1] == 1][:, :-1]
    return rows.mean(axis=0), rows.var(axis=0)
