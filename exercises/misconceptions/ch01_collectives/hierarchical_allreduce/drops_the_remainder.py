"""Parts of n // per_node elements: what is left over is summed nowhere."""

import numpy as np

EARNS = "look at where each block begins and ends"


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
    rail = comm.Split(comm.rank % per_node, comm.rank)
    total = x.copy()
    n = x.size // per_node * per_node
    part = reduce_scatter(machine, x[:n])
    part = allgather(rail, reduce_scatter(rail, part), part.size)
    total[:n] = allgather(machine, part, n)
    return total
