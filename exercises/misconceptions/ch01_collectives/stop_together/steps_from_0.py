"""Returns the index of the step."""

import numpy as np

EARNS = "Steps are counted from 1"


def stop_together(comm, losses, limit):
    mean = np.empty(1)
    for step, loss in enumerate(losses):
        comm.Allreduce(np.array([loss]), mean)
        if mean[0] / comm.size < limit:
            return step
    return len(losses)
