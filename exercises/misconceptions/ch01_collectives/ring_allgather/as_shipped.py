"""Takes out the raise and runs the rest as it is."""

import numpy as np

EARNS = "A blank is not filled in yet"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):  # noqa: B007
        leaving = blocks[___]  # noqa: F821
        arriving = blocks[___]  # noqa: F821
        comm.Sendrecv(leaving, dest=___, recvbuf=arriving, source=___)  # noqa: F821
    return np.concatenate(blocks)
