"""Takes all blocks for equally long."""

import numpy as np

EARNS = "Blocks can differ in length"


def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    return blocks[rank].copy()


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        comm.Sendrecv(blocks[rank - step], (rank + 1) % P, recvbuf=blocks[rank - step - 1], source=(rank - 1) % P)
    return np.concatenate(blocks)


def ring_allreduce(comm, x):
    mine = ring_reduce_scatter(comm, x)
    return ring_allgather(comm, mine, [x.size // comm.size] * comm.size)
