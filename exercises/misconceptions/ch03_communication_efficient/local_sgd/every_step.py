"""Averages in every step."""

from reference import mpi

EARNS = "It synchronises in every step"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step)
        comm.Allreduce(mpi.IN_PLACE, w)
        w /= comm.size
    return w
