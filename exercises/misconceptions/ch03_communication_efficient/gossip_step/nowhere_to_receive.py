"""Gives Sendrecv no array to receive into."""

import numpy as np

EARNS = "Sendrecv wants one to receive into"


def gossip_step(comm, x, partner):
    if partner is None:
        return x.copy()
    other = np.empty_like(x)
    comm.Sendrecv(x, partner, source=partner)
    return (x + other) / 2
