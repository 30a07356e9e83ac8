"""Passes the key first: every rank becomes a group of its own."""

import numpy as np

EARNS = "Split takes the color first"


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
    machine = comm.Split(comm.rank, comm.rank // per_node)
    rail = comm.Split(comm.rank, comm.rank % per_node)
    lengths = [part.size for part in np.array_split(x, per_node)]
    part = ring_reduce_scatter(machine, x)
    across = [block.size for block in np.array_split(part, rail.size)]
    part = ring_allgather(rail, ring_reduce_scatter(rail, part), across)
    return ring_allgather(machine, part, lengths)
