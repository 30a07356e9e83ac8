"""The usual backward pass: both products of a layer, then the next."""

import numpy as np

EARNS = "All x first, then send, then w"


def split_backward(comm, weights, xs, dy, multiply):
    if comm.rank < comm.size - 1:
        dy = np.empty_like(xs[-1])
        comm.Recv(dy, source=comm.rank + 1)
    gradients = []
    for W, x, y in zip(reversed(weights), reversed(xs[:-1]), reversed(xs)):
        dz = dy * (y > 0)
        dy = multiply(comm, dz, W.T)
        gradients.append(multiply(comm, x.T, dz))
    if comm.rank:
        comm.Send(dy, dest=comm.rank - 1)
    return gradients[::-1]
