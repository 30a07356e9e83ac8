"""Counts from the root with rank ^ root, as for a hypercube: for 3 ranks and root 1 there is a number 3."""

EARNS = "deadlock"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = comm.rank ^ root
    distance = 1
    while distance < P:
        if me < distance and (me + distance) ^ root < P:
            comm.Send(x, dest=(me + distance) ^ root)
        elif distance <= me < 2 * distance:
            comm.Recv(x, source=(me - distance) ^ root)
        distance *= 2
