"""All is right, but the groups across wait for each other."""

import numpy as np

EARNS = "something waits"


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
    part, nothing = reduce_scatter(machine, x), np.empty(0)
    if machine.rank > 0:
        machine.Recv(nothing, source=machine.rank - 1)
    part = allgather(rail, reduce_scatter(rail, part), part.size)
    if machine.rank < machine.size - 1:
        machine.Send(nothing, dest=machine.rank + 1)
    return allgather(machine, part, x.size)
