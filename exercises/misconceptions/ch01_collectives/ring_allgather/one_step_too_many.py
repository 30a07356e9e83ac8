"""P blocks, so P steps: each comes home again."""

import numpy as np

EARNS = "Which of your steps is not needed"


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P):
        leaving = blocks[(rank - step) % P]
        arriving = np.empty(lengths[(rank - 1 - step) % P])
        comm.Sendrecv(leaving, dest=(rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        blocks[(rank - 1 - step) % P] = arriving
    return np.concatenate(blocks)
