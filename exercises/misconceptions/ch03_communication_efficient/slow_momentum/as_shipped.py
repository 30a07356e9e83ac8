"""The code to repair, as it is."""

from reference import mpi

EARNS = "It walks uphill"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        w = w - alpha * way
    return w
