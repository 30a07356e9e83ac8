"""Sums completely in each machine, then cuts."""

import numpy as np

EARNS = "too much is sent inside"


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


def hierarchical_allreduce(comm, x, per_node):
    machine = comm.Split(comm.rank // per_node, comm.rank)
    rail = comm.Split(comm.rank % per_node, comm.rank)
    lengths = [part.size for part in np.array_split(x, per_node)]
    inside = ring_allgather(machine, ring_reduce_scatter(machine, x), lengths)
    part = np.array_split(inside, per_node)[machine.rank]
    across = [block.size for block in np.array_split(part, rail.size)]
    part = ring_allgather(rail, ring_reduce_scatter(rail, part), across)
    return ring_allgather(machine, part, lengths)
