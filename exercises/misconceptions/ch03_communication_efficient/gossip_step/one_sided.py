"""The lower of the two averages; the other one has only sent."""

import numpy as np

EARNS = "One-sided"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    if comm.rank > partner:
        comm.Send(x, dest=partner)
        return x.copy()
    comm.Recv(other, source=partner)
    return (x + other) / 2
