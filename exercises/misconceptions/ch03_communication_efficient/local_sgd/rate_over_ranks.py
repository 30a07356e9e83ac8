"""Divides the rate by the ranks as well."""

from reference import mpi

EARNS = "The steps are P times too short"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate / comm.size * gradient(w, step)
        if (step + 1) % period == 0 or step == steps - 1:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w
