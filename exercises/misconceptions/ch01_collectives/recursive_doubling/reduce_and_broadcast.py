"""A tree to rank 0 and a tree back: twice as many rounds."""

import numpy as np

EARNS = "Some ranks are idle in some rounds"


def recursive_doubling(comm, x):
    P, rank = comm.size, comm.rank
    total, other = x.copy(), np.empty_like(x)
    distances = [2**k for k in range((P - 1).bit_length())]
    lowest = next((d for d in distances if rank & d), P)
    for d in distances:
        if d < lowest and rank + d < P:
            comm.Recv(other, source=rank + d)
            total += other
    if rank:
        comm.Send(total, dest=rank - lowest)
        comm.Recv(total, source=rank - lowest)
    for d in reversed(distances):
        if d < lowest and rank + d < P:
            comm.Send(total, dest=rank + d)
    return total
