"""Forgets to divide."""

import numpy as np

EARNS = "not divided by 2"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
    return x + other
