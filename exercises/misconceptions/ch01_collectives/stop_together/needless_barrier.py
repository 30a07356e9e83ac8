"""Decides on the mean, and adds a Barrier to be safe."""

import numpy as np

EARNS = "tells nobody anything"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Barrier()
        comm.Allreduce(np.array([loss]), mean)
        mean /= comm.size
        if mean[0] < limit:
            return step
    return len(losses)
