"""The ranks beyond the power of two give their array away and are forgotten."""

import numpy as np

EARNS = "Nobody has told rank 2 the result"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    core = 2 ** (P.bit_length() - 1)
    total, other = x.copy(), np.empty_like(x)
    if rank >= core:
        comm.Send(x, dest=rank - core)
        return total
    if rank + core < P:
        comm.Recv(other, source=rank + core)
        total += other
    distance = 1
    while distance < core:
        comm.Sendrecv(total, dest=rank ^ distance, recvbuf=other, source=rank ^ distance)
        total += other
        distance *= 2
    return total
