"""Averages at the multiples of the period, counted from 0."""

from reference import mpi

EARNS = "The averages come at the wrong steps"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step)
        if step % period == 0:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w
