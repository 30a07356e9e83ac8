"""The sum grows along the ring up to the last rank, then the result is passed on: 2 (P - 1) n elements as well."""

import numpy as np

EARNS = "most links are idle while something long creeps along"


def ring_allreduce(comm, x):
    P, rank = comm.size, comm.rank
    total, other = x.copy(), np.empty_like(x)
    if P == 1:
        return total
    if rank > 0:
        comm.Recv(other, source=rank - 1)
        total += other
    comm.Send(total, dest=(rank + 1) % P)
    if rank < P - 1:
        comm.Recv(total, source=(rank - 1) % P)
        if rank < P - 2:
            comm.Send(total, dest=rank + 1)
    return total
