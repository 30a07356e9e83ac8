"""Lets the ranks meet before one leaves: the others are in Allreduce."""

import numpy as np

EARNS = "Different ranks are in different calls"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        if loss < limit:
            comm.Barrier()
            return step
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
    return len(losses)
