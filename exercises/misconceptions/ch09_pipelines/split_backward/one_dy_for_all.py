"""Uses the stage's dy for all its layers."""

import numpy as np

EARNS = "at that layer's own output"


def split_backward(comm, weights, xs, dy, multiply):
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    dzs, first = [], dy
    for W, y in zip(reversed(weights), reversed(xs)):
        dzs.append(first * (y > 0))
        dy = multiply(comm, dy * (y > 0), W.T)
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    return [multiply(comm, x.T, dz) for x, dz in zip(xs, reversed(dzs))]
