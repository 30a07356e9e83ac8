"""Returns what has come."""

import numpy as np

EARNS = "exchanged their arrays"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
    return other
