"""Answers everybody at once."""

import numpy as np

from reference import mpi

EARNS = "The fast worker has to wait"


def bounded_staleness(comm, w, gradient, steps, bound, rate):
    if comm.rank:
        for step in range(steps):
            comm.Recv(w, source=0)
            comm.Send(gradient(comm, w, step), dest=0)
    else:
        clock = dict.fromkeys(range(1, comm.size), 0)
        waiting, g, status = set(clock), np.empty_like(w), mpi.Status()
        for _ in range(steps * len(clock)):
            for worker in sorted(waiting):
                if clock[worker] < steps:
                    comm.Send(w, dest=worker)
                    waiting.remove(worker)
            comm.Recv(g, mpi.ANY_SOURCE, status=status)
            w -= rate * g
            clock[status.source] += 1
            waiting.add(status.source)
    comm.Bcast(w, root=0)
    return w
