"""Pairs ranks by rank ^ step, and who has no partner sits the step out."""

import numpy as np

EARNS = "In some steps a rank has no partner"


def pairwise_alltoall(comm, x):
    P, rank = comm.size, comm.rank
    result = np.empty_like(x)
    result[rank] = x[rank]
    for step in range(1, 2 ** (P - 1).bit_length()):
        partner = rank ^ step
        if partner < P:
            comm.Sendrecv(x[partner], dest=partner, recvbuf=result[partner], source=partner)
    return result
