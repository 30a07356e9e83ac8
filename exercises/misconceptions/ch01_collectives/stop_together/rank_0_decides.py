"""Rank 0 decides on its own loss and tells the others: nobody hangs."""

import numpy as np

EARNS = "the others have no say"


def stop_together(comm, losses, limit):
    for step, loss in enumerate(losses, 1):
        decision = np.array([loss])
        comm.Bcast(decision, root=0)
        if decision[0] < limit:
            return step
    return len(losses)
