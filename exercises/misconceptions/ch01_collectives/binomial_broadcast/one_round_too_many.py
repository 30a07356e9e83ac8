"""A round more than needed, in which the root serves itself."""

EARNS = "How many rounds does your loop make?"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me, distance = (comm.rank - root) % P, 1
    while distance < 2 * P:
        if me < distance:
            if me + distance <= P:
                comm.Send(x, dest=(me + distance + root) % P)
        elif me < 2 * distance:
            comm.Recv(x, source=(me - distance + root) % P)
        distance *= 2
