"""Waits until the largest loss is below the limit."""

import numpy as np

from reference import mpi

EARNS = "every single loss is below the limit"


def stop_together(comm, losses, limit):
    largest = np.empty(1)
    for step, loss in enumerate(losses, 1):
        comm.Allreduce(np.array([loss]), largest, op=mpi.MAX)
        if largest[0] < limit:
            return step
    return len(losses)
