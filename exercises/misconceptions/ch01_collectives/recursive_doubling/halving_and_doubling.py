"""Fewer bytes, twice the messages: the algorithm for long arrays."""

import numpy as np

EARNS = "These are too many rounds"


def recursive_doubling(comm, x):
    total, rank = x.copy(), comm.rank
    kept, given, bit = [total], [], comm.size // 2
    while bit:
        low, high = np.array_split(kept[-1], 2)
        keep, give = (high, low) if rank & bit else (low, high)
        arriving = np.empty_like(keep)
        comm.Sendrecv(give, dest=rank ^ bit, recvbuf=arriving, source=rank ^ bit)
        keep += arriving
        kept.append(keep)
        given.append((give, bit))
        bit //= 2
    while given:
        give, bit = given.pop()
        comm.Sendrecv(kept.pop(), dest=rank ^ bit, recvbuf=give, source=rank ^ bit)
    return total
