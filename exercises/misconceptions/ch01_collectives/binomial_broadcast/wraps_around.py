"""For want of a partner the last ones send to the first ones again."""

from reference import mpi

EARNS = "Which of yours bring nothing new"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me, requests = (comm.rank - root) % P, []
    distance = 1
    while distance < P:
        if me < distance:
            requests.append(comm.Isend(x.copy(), dest=(comm.rank + distance) % P))
        if distance <= me < 2 * distance or me < 2 * distance - P:
            comm.Recv(x, source=(comm.rank - distance) % P)
        distance *= 2
    mpi.waitall(requests)
