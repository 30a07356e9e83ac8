"""Moves before the momentum is up to date."""

import numpy as np

from reference import mpi

EARNS = "so they are a phase late"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    m = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        way /= comm.size
        w = w - alpha * rate * m
        m = beta * m - way / rate
    return w
