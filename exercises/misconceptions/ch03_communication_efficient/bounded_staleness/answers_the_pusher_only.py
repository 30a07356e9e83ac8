"""Looks only at the worker whose gradient has come."""

import numpy as np

from reference import mpi

EARNS = "others than its worker may go on"


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    if comm.rank == 0:
        clock = dict.fromkeys(range(1, comm.size), 0)
        waiting = set(clock)

        def release():
            slow = min(clock.values(), default=0)
            for r in sorted(waiting):
                if clock[r] < steps and clock[r] - slow <= bound:
                    comm.Send(w, r)
                    waiting.discard(r)

        release()
        for _ in range(steps * (comm.size - 1)):
            g = np.empty_like(w)
            status = mpi.Status()
            comm.Recv(g, mpi.ANY_SOURCE, status=status)
            w = w - rate * g
            clock[status.source] += 1
            r = status.source
            if clock[r] < steps and clock[r] - min(clock.values()) <= bound:
                comm.Send(w, r)
    else:
        for step in range(steps):
            comm.Recv(w, 0)
            g = gradient(comm, w, step)
            comm.Send(g, 0)
    comm.Bcast(w, 0)
    return w
