"""Averages the gradients of a period, all taken where it began."""

from reference import mpi

EARNS = "At which weights does each compute its gradient"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for first in range(0, steps, period):
        total = sum(gradient(w, step) for step in range(first, min(first + period, steps)))
        comm.Allreduce(mpi.IN_PLACE, total)
        w -= rate * total / comm.size
    return w
