"""The same exercises solved in another way. Graders must accept these too."""

import numpy as np

from reference import mpi


def ring_reduce_scatter(comm, x):
    """Carry one partial sum along instead of a copy of x: what a rank holds between two steps is a single block.

    The block that comes in has met all ranks on its way but this one, so adding the own part and passing it on is all
    there is to do. Memory beyond x: two blocks, where the copy takes P.
    """
    n, P, rank = x.size, comm.size, comm.rank
    begin = [block * (n // P) + min(block, n % P) for block in range(P + 1)]

    def part(block):
        return x[begin[block % P] : begin[block % P + 1]]

    travelling = part(rank - 1).copy()
    for block in range(rank - 2, rank - P - 1, -1):
        arriving = np.empty(part(block).size)
        mpi.waitall([comm.Irecv(arriving, source=(rank - 1) % P), comm.Isend(travelling, dest=(rank + 1) % P)])
        travelling = arriving + part(block)
    return travelling
