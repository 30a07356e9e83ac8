"""Makes the momentum anew in each phase."""

from reference import mpi

EARNS = "must be made before the loop"


def slow_momentum(comm, w, gradient, phases, period, rate, alpha, beta):
    for phase in range(phases):
        local = w.copy()
        for step in range(phase * period, (phase + 1) * period):
            local -= rate * gradient(local, step)
        way = local - w
        comm.Allreduce(mpi.IN_PLACE, way)
        u = beta * u - way / comm.size / rate  # noqa: F821
        w = w - alpha * rate * u
    return w
