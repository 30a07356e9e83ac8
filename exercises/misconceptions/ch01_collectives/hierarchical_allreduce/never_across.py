"""Sums inside each machine, and stops there."""

import numpy as np

EARNS = "Which phase brings the machines together"


def reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    return blocks[rank].copy()


def allgather(comm, part, n):
    P, rank = comm.size, comm.rank
    whole = np.empty(n)
    blocks = np.array_split(whole, P)
    blocks[rank][:] = part
    for step in range(P - 1):
        comm.Sendrecv(blocks[rank - step], (rank + 1) % P, recvbuf=blocks[rank - step - 1], source=(rank - 1) % P)
    return whole


def hierarchical_allreduce(comm, x, per_node):
    machine = comm.Split(comm.rank // per_node, comm.rank)
    return allgather(machine, reduce_scatter(machine, x), x.size)
