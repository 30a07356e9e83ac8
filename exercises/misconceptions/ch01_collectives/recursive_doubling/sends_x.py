"""Sends its own array in every round, not what it has summed."""

import numpy as np

EARNS = "whose parts are in what you send"


def recursive_doubling(comm, x):
    total, other = x.copy(), np.empty_like(x)
    for k in range(comm.size.bit_length() - 1):
        partner = comm.rank ^ 2**k
        comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
        total += other
    return total
