"""Averages into an array that nobody looks at."""

import numpy as np

EARNS = "Each rank returns its own weights"


def local_sgd(comm, w, gradient, steps, period, rate):
    w = w.copy()
    for step in range(steps):
        w -= rate * gradient(w, step)
        if (step + 1) % period == 0 or step + 1 == steps:
            mean = np.empty_like(w)
            comm.Allreduce(w, mean)
            mean /= comm.size
    return w
