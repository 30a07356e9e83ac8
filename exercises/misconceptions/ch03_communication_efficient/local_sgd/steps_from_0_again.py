"""Numbers the steps within a period."""

from reference import mpi

EARNS = "numbered from 0 again"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step % period)
        if (step + 1) % period == 0 or step + 1 == steps:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w
