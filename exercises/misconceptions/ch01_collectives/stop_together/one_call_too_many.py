"""Averages once more before it leaves."""

import numpy as np

EARNS = "none after the one that decides"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
        if mean[0] < limit:
            comm.Allreduce(np.array([loss]), mean)
            return step
    return len(losses)
