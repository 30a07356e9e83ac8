"""Sums in place, in x."""

from reference import mpi

EARNS = "who writes into one writes into x"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    row.Allreduce(mpi.IN_PLACE, x)
    return x.copy()
