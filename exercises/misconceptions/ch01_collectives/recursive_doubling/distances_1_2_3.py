"""Takes rank ^ k for rank ^ 2**k: the first partner is the rank itself."""

import numpy as np

EARNS = "Whose partner in one round has already had some"


def recursive_doubling(comm, x):
    total, other = x.copy(), np.empty_like(x)
    for k in range((comm.size - 1).bit_length()):
        partner = comm.rank ^ k
        comm.Sendrecv(total, dest=partner, recvbuf=other, source=partner)
        total += other
    return total
