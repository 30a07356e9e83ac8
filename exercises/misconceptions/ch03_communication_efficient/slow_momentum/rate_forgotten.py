"""Divides by rate, and does not multiply."""

import numpy as np

from reference import mpi

EARNS = "The momentum is one of gradients"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    u = np.zeros_like(w)
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        u = beta * u - way / comm.size / rate
        w = w - alpha * u
    return w
