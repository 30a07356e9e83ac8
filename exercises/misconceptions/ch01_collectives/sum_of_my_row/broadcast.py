"""Broadcasts the first rank's x on the row: that is a copy and no sum."""

EARNS = "nothing of the others in its row was added"


def sum_of_my_row(comm, x, width):
    row = comm.Split(comm.rank // width, comm.rank)
    total = x.copy()
    row.Bcast(total, root=0)
    return total
