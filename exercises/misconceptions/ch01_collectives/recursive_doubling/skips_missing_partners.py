"""Who has no partner in a round sits it out."""

import numpy as np

EARNS = "hand in their part before the rounds"


def recursive_doubling(comm, x):
    total, other = x.copy(), np.empty_like(x)
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        if partner < comm.size:
            comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
            total += other
        distance *= 2
    return total
