"""Everybody who has x sends in every round, as if there were always somebody left."""

EARNS = "have no partner in the last round"


def binomial_broadcast(comm, x, root):
    P, rank = comm.size, comm.rank
    distance = 1
    while distance < P:
        if rank < distance:
            comm.Send(x, dest=rank + distance)
        elif rank < 2 * distance:
            comm.Recv(x, source=rank - distance)
        distance *= 2
