"""Adds to x itself."""

import numpy as np

EARNS = "who writes into one writes into x"


def recursive_doubling(comm, x):
    other = np.empty_like(x)
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
        x += other
        distance *= 2
    return x.copy()
