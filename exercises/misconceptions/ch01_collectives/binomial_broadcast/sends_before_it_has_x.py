"""Sends on in every round, also before anything has come."""

from reference import mpi

EARNS = "Before a rank sends x on it must have received it"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = (comm.rank - root) % P
    lowest = me & -me if me else 1 << (P - 1).bit_length()
    requests, distance = [], lowest // 2
    while distance > 0:
        if me + distance < P:
            requests.append(comm.Isend(x.copy(), dest=(comm.rank + distance) % P))
        distance //= 2
    if me:
        comm.Recv(x, source=(comm.rank - lowest) % P)
    mpi.waitall(requests)
