"""Forgets the maximum."""

import numpy as np

EARNS = "lets a gradient through only where"


def split_backward(comm, weights, xs, dy, multiply):
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    dzs = []
    for W in reversed(weights):
        dzs.append(dy)
        dy = multiply(comm, dzs[-1], W.T)
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
