"""The call with a small letter, which pickles the array."""

EARNS = "pickles the array"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    return row.allreduce(x)
