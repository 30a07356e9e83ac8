"""The ranks beyond the power of two all send to rank 0, one after the other."""

import numpy as np

EARNS = "have all the ranks that do not fit a partner of their own"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    core = 2 ** (P.bit_length() - 1)
    total, other = x.copy(), np.empty_like(x)
    if rank >= core:
        comm.Send(x, dest=0)
        comm.Recv(total, source=0)
        return total
    if rank == 0:
        for guest in range(core, P):
            comm.Recv(other, source=guest)
            total += other
    distance = 1
    while distance < core:
        comm.Sendrecv(total, dest=rank ^ distance, recvbuf=other, source=rank ^ distance)
        total += other
        distance *= 2
    if rank == 0:
        for guest in range(core, P):
            comm.Send(total, dest=guest)
    return total
