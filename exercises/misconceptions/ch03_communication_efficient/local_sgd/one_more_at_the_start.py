"""Makes sure that all begin equal, which they do."""

from reference import mpi

EARNS = "None is needed before the first step"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    comm.Allreduce(mpi.IN_PLACE, w)
    w /= comm.size
    for step in range(steps):
        w -= rate * gradient(w, step)
        if (step + 1) % period == 0 or step + 1 == steps:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w
