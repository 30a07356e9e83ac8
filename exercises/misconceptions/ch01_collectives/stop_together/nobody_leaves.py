"""Notes the right step, and trains on to the end."""

import numpy as np

EARNS = "nobody left the loop"


def stop_together(comm, losses, limit):
    mean, first = np.empty(1), None
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        if first is None and mean[0] / comm.size < limit:
            first = step
    return len(losses) if first is None else first
