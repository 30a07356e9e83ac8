"""A right tree, but each rank serves the nearest first, who has the fewest below it."""

EARNS = "serve it before one that has none"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = (comm.rank - root) % P
    lowest = me & -me if me else 1 << (P - 1).bit_length()
    if me:
        comm.Recv(x, source=(comm.rank - lowest) % P)
    distance = 1
    while distance < lowest:
        if me + distance < P:
            comm.Send(x, dest=(comm.rank + distance) % P)
        distance *= 2
