"""Forgets to divide."""

import numpy as np

EARNS = "the sum is below the limit"


def stop_together(comm, losses, limit):
    total = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), total)
        if total[0] < limit:
            return step
    return len(losses)
