"""Sends in the last round to somebody in any case."""

EARNS = "the last round is not full"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me, distance = (comm.rank - root) % P, 1
    while distance < P:
        if me < distance:
            comm.Send(x, dest=(me + distance + root) % P)
        elif me < 2 * distance:
            comm.Recv(x, source=(me - distance + root) % P)
        distance *= 2
