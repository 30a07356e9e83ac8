"""Receives into x itself."""

EARNS = "who writes into one writes into x"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    mine = x.copy()
    for step in range(1, P):
        dest, source = (rank + step) % P, (rank - step) % P
        comm.Sendrecv(mine[dest], dest=dest, recvbuf=x[source], source=source)
    return x.copy()
