"""Nobody leaves before the end, and each returns its own first good step."""

import numpy as np

EARNS = "not all the same"


def stop_together(comm, losses, limit):
    mean, first = np.empty(1), len(losses)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        if loss < limit:
            first = min(first, step)
    return first
