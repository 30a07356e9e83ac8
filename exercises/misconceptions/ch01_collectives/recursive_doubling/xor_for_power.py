"""Takes ^ for a power."""

import numpy as np

EARNS = "the power is 2**k"


def recursive_doubling(comm, x):
    total, other = x.copy(), np.empty_like(x)
    for k in range(comm.size.bit_length() - 1):
        partner = comm.rank ^ (2 ^ k)
        comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
        total += other
    return total
