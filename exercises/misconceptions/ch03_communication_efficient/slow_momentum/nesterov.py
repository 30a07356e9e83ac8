"""Nesterov's form."""

import numpy as np

from reference import mpi

EARNS = "That is Nesterov's form"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    u = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        p = -way / comm.size / rate
        u = beta * u + p
        w = w - alpha * rate * (p + beta * u)
    return w
