"""Everybody exchanges with rank 0 first, then with rank 1, and so on: queues."""

EARNS = "so they queue up"


def pairwise_alltoall(comm, x):
    result = x.copy()
    for other in range(comm.size):
        if other != comm.rank:
            comm.Sendrecv(x[other], dest=other, recvbuf=result[other], source=other)
    return result
