"""The calls with small letters."""

import numpy as np

from reference import mpi

EARNS = "with a small letter"


def blocking_both_ways(comm, x, forward, backward, m):
    p, r = comm.size, comm.rank
    warmup = min(p - 1 - r, m)
    order = [("F", i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [("F", warmup + i), ("B", i)]
    order += [("B", i) for i in range(m - warmup, m)]
    y, dx, requests = {}, np.empty_like(x), []
    for kind, i in order:
        if kind == "F":
            if r > 0:
                x[i] = comm.recv(source=r - 1)
            y[i] = forward(comm, i, x[i])
            if r < p - 1:
                requests.append(comm.isend(y[i], dest=r + 1))
        else:
            dy = y.pop(i)
            if r < p - 1:
                dy = comm.recv(source=r + 1)
            dx[i] = backward(comm, i, dy)
            if r > 0:
                requests.append(comm.isend(dx[i], dest=r - 1))
    mpi.waitall(requests)
    return dx
