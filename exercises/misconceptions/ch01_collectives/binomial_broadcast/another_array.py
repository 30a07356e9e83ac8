"""Receives into a new array and gives it the name x."""

import numpy as np

EARNS = "gives the name to another array"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = (comm.rank - root) % P
    distance = 1
    while distance < P:
        if me < distance:
            if me + distance < P:
                comm.Send(x, dest=(comm.rank + distance) % P)
        elif me < 2 * distance:
            arriving = np.empty_like(x)
            comm.Recv(arriving, source=(comm.rank - distance) % P)
            x = arriving
        distance *= 2
    return x
