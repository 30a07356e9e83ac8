"""Averages the gradients, and the weights as well."""

from reference import mpi

EARNS = "two kinds of SGD at once"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        gr = gradient(w, step)
        comm.Allreduce(mpi.IN_PLACE, gr)
        w -= rate * gr / comm.size
        if (step + 1) % period == 0 or step == steps - 1:
            comm.Allreduce(mpi.IN_PLACE, w)
            w /= comm.size
    return w
