"""Moves half of the way to the partner."""

import numpy as np

EARNS = "differ in the last bits"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
    return x + (other - x) / 2
