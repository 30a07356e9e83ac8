"""floor(log2 P) rounds instead of ceil(log2 P)."""

EARNS = "Nobody has sent anything to it"


def binomial_broadcast(comm, x, root):
    P = comm.size
    me = (comm.rank - root) % P
    for k in range(P.bit_length() - 1):
        distance = 2**k
        if me < distance and me + distance < P:
            comm.Send(x, dest=(comm.rank + distance) % P)
        elif distance <= me < 2 * distance:
            comm.Recv(x, source=(comm.rank - distance) % P)
