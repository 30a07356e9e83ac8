"""The first averages and sends its mean, with which the second averages."""

import numpy as np

EARNS = "as it was before the step"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    if comm.rank < partner:
        comm.Recv(other, source=partner)
        mean = (x + other) / 2
        comm.Send(mean, dest=partner)
        return mean
    comm.Send(x, dest=partner)
    comm.Recv(other, source=partner)
    return (x + other) / 2
