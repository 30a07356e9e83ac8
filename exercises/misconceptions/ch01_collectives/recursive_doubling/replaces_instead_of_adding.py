"""Receives into the sum, so what arrives replaces it."""

EARNS = "what arrives must meet what you have"


def recursive_doubling(comm, x):
    total = x.copy()
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        comm.Sendrecv(total.copy(), dest=partner, recvbuf=total, source=partner)
        distance *= 2
    return total
