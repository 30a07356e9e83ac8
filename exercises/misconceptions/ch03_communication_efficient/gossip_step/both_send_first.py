"""Sends, then receives, on both sides."""

import numpy as np

EARNS = "Both partners stand in Send"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Send(x, dest=partner)
    comm.Recv(other, source=partner)
    return (x + other) / 2
