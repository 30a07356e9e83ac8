"""Has a partner in every step."""

import numpy as np

EARNS = "None is no rank"


def gossip_step(comm, x, partner):
    other = np.empty_like(x)
    comm.Sendrecv(x, dest=partner, recvbuf=other, source=partner)
    return (x + other) / 2
