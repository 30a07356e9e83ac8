"""Ranks that get x in this round already send in it."""

EARNS = "List who does which, round by round"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me, distance = (comm.rank - root) % P, 1
    while distance < P:
        if me <= distance:
            if me + distance < P:
                comm.Send(x, dest=(me + distance + root) % P)
        elif me <= 2 * distance:
            comm.Recv(x, source=(me - distance + root) % P)
        distance *= 2
