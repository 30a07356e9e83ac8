"""The root sends x to one rank after the other."""

EARNS = "The root sends all"


def binomial_broadcast(comm, x, root):
    if comm.rank == root:
        for dest in range(comm.size):
            if dest != root:
                comm.Send(x, dest=dest)
    else:
        comm.Recv(x, source=root)
