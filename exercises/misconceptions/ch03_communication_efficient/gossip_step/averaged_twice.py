"""Halves before and after."""

import numpy as np

EARNS = "Send x as it is, and halve once"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x / 2, dest=partner, recvbuf=other, source=partner)
    return (x / 2 + other) / 2
