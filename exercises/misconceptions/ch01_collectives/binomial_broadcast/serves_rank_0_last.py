"""Begins at the root and forgets to count in a circle: ranks below the root are never reached."""

EARNS = "turned back into a rank"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = (comm.rank - root) % P
    distance = 1
    while distance < P:
        if me < distance and me + distance < P:
            comm.Send(x, dest=comm.rank + distance)
        elif distance <= me < 2 * distance:
            comm.Recv(x, source=comm.rank - distance)
        distance *= 2
