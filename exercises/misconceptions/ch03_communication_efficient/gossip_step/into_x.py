"""Works in place."""

import numpy as np

EARNS = "The caller still needs its x"


def gossip_step(comm, x, partner):
    if partner is not None:
        other = np.empty_like(x)
        comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
        x += other
        x /= 2
    return x.copy()
