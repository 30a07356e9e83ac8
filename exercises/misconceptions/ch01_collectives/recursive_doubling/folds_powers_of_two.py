"""C is below P, also when P is a power of two: the sum is right, with a round more."""

import numpy as np

EARNS = "there is nothing to fold"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    core = 2 ** max(0, (P - 1).bit_length() - 1)
    total, other = x.copy(), np.empty_like(x)
    if rank >= core:
        comm.Send(total, dest=rank - core)
        comm.Recv(total, source=rank - core)
        return total
    if rank + core < P:
        comm.Recv(other, source=rank + core)
        total += other
    distance = 1
    while distance < core:
        comm.Sendrecv(total, dest=rank ^ distance, recvbuf=other, source=rank ^ distance)
        total += other
        distance *= 2
    if rank + core < P:
        comm.Send(total, dest=rank + core)
    return total
