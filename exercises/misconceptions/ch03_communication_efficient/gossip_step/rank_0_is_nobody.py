"""Takes rank 0 for no partner."""

import numpy as np

EARNS = "is that one's call there?"


def gossip_step(comm, x, partner):
    if not partner:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x, partner, recvbuf=other, source=partner)
    return (x + other) / 2
