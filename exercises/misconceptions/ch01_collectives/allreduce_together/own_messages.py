"""Sums with messages of its own."""

import numpy as np

EARNS = "the library's own call is wanted"


def by_messages(comm, x):
    total, other = x.copy(), np.empty_like(x)
    for step in range(1, comm.size):
        comm.Sendrecv(x, (comm.rank + step) % comm.size, recvbuf=other, source=(comm.rank - step) % comm.size)
        total += other
    return total


def allreduce_together(comm, arrays):
    flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
    total = by_messages(comm, flat)
    cuts = np.cumsum([array.size for array in arrays], dtype=int)
    return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
