"""Isend, and never waits."""

import numpy as np

EARNS = "collect the requests in a list"


def blocking_both_ways(comm, x, forward, backward, m):
    p, r = comm.size, comm.rank
    warmup = min(p - 1 - r, m)
    order = [("F", i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [("F", warmup + i), ("B", i)]
    order += [("B", i) for i in range(m - warmup, m)]
    y, dx = {}, np.empty_like(x)
    for kind, i in order:
        if kind == "F":
            if r > 0:
                comm.Recv(x[i], source=r - 1)
            y[i] = forward(comm, i, x[i])
            if r < p - 1:
                comm.Isend(y[i], dest=r + 1)
        else:
            dy = y.pop(i)
            if r < p - 1:
                comm.Recv(dy, source=r + 1)
            dx[i] = backward(comm, i, dy)
            if r > 0:
                comm.Isend(dx[i], dest=r - 1)
    return dx
