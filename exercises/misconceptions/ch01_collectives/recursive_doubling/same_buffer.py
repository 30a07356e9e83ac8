"""Sends from the array that it receives into: MPI refuses."""

EARNS = "One array for both directions"


def recursive_doubling(comm, x):
    total = x.copy()
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.Sendrecv(total, dest=partner, recvbuf=total, source=partner)
        total += x
        distance *= 2
    return total
