"""Sends with the small-letter calls of mpi4py's tutorial, which pickle."""

EARNS = "pickles its object"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = (comm.rank - root) % P
    distance = 1
    while distance < P:
        if me < distance:
            if me + distance < P:
                comm.send(x, dest=(comm.rank + distance) % P)
        elif me < 2 * distance:
            x[:] = comm.recv(source=(comm.rank - distance) % P)
        distance *= 2
