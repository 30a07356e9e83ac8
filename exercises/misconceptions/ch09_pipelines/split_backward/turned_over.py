"""The gradient for the weights is transposed."""

import numpy as np

EARNS = "turned over"


def split_backward(comm, weights, xs, dy, multiply):
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    dzs = []
    for W, y in zip(reversed(weights), reversed(xs)):
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W.T)
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    return [multiply(comm, dz.T, x) for x, dz in zip(xs, reversed(dzs))]
