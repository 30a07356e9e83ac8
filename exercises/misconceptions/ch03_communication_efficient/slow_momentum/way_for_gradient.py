"""Takes the way for a gradient, without dividing it by the rate."""

import numpy as np

from reference import mpi

EARNS = "that makes it too short"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    m = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        way /= comm.size
        m = beta * m - way
        w = w - alpha * rate * m
    return w
