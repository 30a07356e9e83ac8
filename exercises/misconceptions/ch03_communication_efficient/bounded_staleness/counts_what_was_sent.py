"""Counts the weights that were sent."""

import numpy as np

from reference import mpi

EARNS = "and not weights that were sent"


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    if comm.rank == 0:
        clock = dict.fromkeys(range(1, comm.size), 0)
        waiting = set(clock)

        def release():
            slow = min(clock.values(), default=0)
            for r in sorted(waiting):
                if clock[r] < steps and clock[r] - slow <= bound:
                    comm.Send(w, r)
                    clock[r] += 1
                    waiting.discard(r)

        release()
        for _ in range(steps * (comm.size - 1)):
            g = np.empty_like(w)
            status = mpi.Status()
            comm.Recv(g, mpi.ANY_SOURCE, status=status)
            w = w - rate * g
            waiting.add(status.source)
            release()
    else:
        for step in range(steps):
            comm.Recv(w, 0)
            g = gradient(comm, w, step)
            comm.Send(g, 0)
    comm.Bcast(w, 0)
    return w
