"""One more forward pass before the turns."""

import numpy as np

from reference import mpi

EARNS = "The order was right. It is the way of sending"


def blocking_both_ways(comm, x, forward, backward, m):
    p, r = comm.size, comm.rank
    warmup = min(p - r, m)
    order = [("F", i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [("F", warmup + i), ("B", i)]
    order += [("B", i) for i in range(m - warmup, m)]
    y, dx, requests = {}, np.empty_like(x), []
    for kind, i in order:
        if kind == "F":
            if r > 0:
                comm.Recv(x[i], source=r - 1)
            y[i] = forward(comm, i, x[i])
            if r < p - 1:
                requests.append(comm.Isend(y[i], dest=r + 1))
        else:
            dy = y[i].copy()
            if r < p - 1:
                comm.Recv(dy, source=r + 1)
            dx[i] = backward(comm, i, dy)
            if r > 0:
                requests.append(comm.Isend(dx[i], dest=r - 1))
    mpi.waitall(requests)
    return dx
