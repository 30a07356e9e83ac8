"""Goes through the layers a second time for the weights."""

import numpy as np

EARNS = "need not go through the layers again"


def split_backward(comm, weights, xs, dy, multiply):
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    dzs, given = [], dy
    for W, y in zip(reversed(weights), reversed(xs)):
        dzs.append(dy * (y > 0))
        dy = multiply(comm, dzs[-1], W.T)
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    gradients, dy = [], given
    for W, x, y in zip(reversed(weights), reversed(xs[:-1]), reversed(xs)):
        dz = dy * (y > 0)
        gradients.append(multiply(comm, x.T, dz))
        dy = multiply(comm, dz, W.T)
    return gradients[::-1]
