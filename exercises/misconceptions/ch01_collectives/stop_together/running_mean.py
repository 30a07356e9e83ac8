"""Averages over the steps as well."""

import numpy as np

EARNS = "a mean over the steps so far as well"


def stop_together(comm, losses, limit):
    mean, total = np.empty(1), 0.0
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        total += mean[0] / comm.size
        if total / step < limit:
            return step
    return len(losses)
