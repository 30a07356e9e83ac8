"""Synchronous training, without a server."""

import numpy as np

from reference import mpi

EARNS = "In a collective call all wait for all"


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    for step in range(steps):
        g = gradient(comm, w, step) if comm.rank else np.zeros_like(w)
        comm.Allreduce(mpi.IN_PLACE, g)
        w -= rate * g
    return w
