"""Averages over all."""

import numpy as np

EARNS = "does the whole job inside the library"


def gossip_step(comm, x, partner):
    mean = np.empty_like(x)
    comm.Allreduce(x, mean)
    return mean / comm.size
