"""Averages after the last step only."""

from reference import mpi

EARNS = "all meet after each of them"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step)
        if step == steps - 1:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w
