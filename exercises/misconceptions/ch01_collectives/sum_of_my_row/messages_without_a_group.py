"""Exchanges messages with each rank of the row."""

import numpy as np

EARNS = "Messages between two ranks can do it, one by one"


def sum_of_my_row(comm, x, width):
    first = comm.rank // width * width
    total, other = x.copy(), np.empty_like(x)
    for rank in range(first, min(first + width, comm.size)):
        if rank != comm.rank:
            comm.Sendrecv(x, dest=rank, recvbuf=other, source=rank)
            total += other
    return total
