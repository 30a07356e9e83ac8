"""With 1 - beta."""

import numpy as np

from reference import mpi

EARNS = "That is a running mean"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    u = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        u = beta * u - (1 - beta) * way / comm.size / rate
        w = w - alpha * rate * u
    return w
