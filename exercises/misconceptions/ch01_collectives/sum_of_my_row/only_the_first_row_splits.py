"""Makes a group only where it is needed."""

EARNS = "Split is a collective call on the whole communicator"


def sum_of_my_row(comm, x, width):
    total = x.copy()
    if comm.rank // width * width + 1 < comm.size and width > 1:
        row = comm.Split(comm.rank // width, comm.rank)
        row.Allreduce(x, total)
    return total
