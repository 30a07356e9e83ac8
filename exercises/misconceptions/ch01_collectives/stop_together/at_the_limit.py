"""Stops when the mean equals the limit."""

import numpy as np

EARNS = "a mean that equals it is not good enough"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        if mean[0] / comm.size <= limit:
            return step
    return len(losses)
