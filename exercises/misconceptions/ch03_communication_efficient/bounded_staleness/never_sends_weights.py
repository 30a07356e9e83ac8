"""Workers compute at the weights of the beginning."""

import numpy as np

from reference import mpi

EARNS = "did it receive them"


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    if comm.rank:
        for step in range(steps):
            comm.Send(gradient(comm, w, step), dest=0)
    else:
        g = np.empty_like(w)
        for _ in range(steps * (comm.size - 1)):
            comm.Recv(g, mpi.ANY_SOURCE)
            w -= rate * g
    comm.Bcast(w, root=0)
    return w
