"""A right tree, and always that of rank 0."""

EARNS = "The tree began at rank 0, whatever the root is"


def binomial_broadcast(comm, x, root):
    P, rank = comm.size, comm.rank
    distance = 1
    while distance < P:
        if rank < distance and rank + distance < P:
            comm.Send(x, dest=rank + distance)
        elif distance <= rank < 2 * distance:
            comm.Recv(x, source=rank - distance)
        distance *= 2
