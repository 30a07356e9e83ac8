"""Multiplies by the weights as they are."""

import numpy as np

EARNS = "On the way back the weights are transposed"


def split_backward(comm, weights, xs, dy, multiply):
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    dzs = []
    for W, y in zip(reversed(weights), reversed(xs)):
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W)
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
