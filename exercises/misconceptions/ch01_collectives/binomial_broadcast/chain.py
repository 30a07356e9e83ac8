"""Each rank passes x on to the next one."""

EARNS = "A chain: each rank passes x on once"


def binomial_broadcast(comm, x, root):
    P, rank = comm.size, comm.rank
    if rank != root:
        comm.Recv(x, source=(rank - 1) % P)
    if (rank + 1) % P != root:
        comm.Send(x, dest=(rank + 1) % P)
