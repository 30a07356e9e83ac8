"""Returns nothing if the limit is never met."""

import numpy as np

EARNS = "What if the loop comes to its end"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
        if mean[0] < limit:
            return step
