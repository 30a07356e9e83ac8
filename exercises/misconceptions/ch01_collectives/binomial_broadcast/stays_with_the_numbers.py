"""Counts from the root, and takes these numbers for ranks."""

EARNS = "With root 0 it worked"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me, distance = (comm.rank - root) % P, 1
    while distance < P:
        if me < distance:
            if me + distance < P:
                comm.Send(x, dest=me + distance)
        elif me < 2 * distance:
            comm.Recv(x, source=me - distance)
        distance *= 2
