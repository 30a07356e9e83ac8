"""Lets all ranks meet in every step; those that have left do not come."""

import numpy as np

EARNS = "A barrier does not help"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        if loss < limit:
            return step
        comm.Barrier()
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
    return len(losses)
