"""Averages all losses in one call, and then looks for the step."""

import numpy as np

EARNS = "everybody has trained to the end"


def stop_together(comm, losses, limit):
    means = np.empty(len(losses))
    comm.Allreduce(np.array(losses, dtype=float), means)
    below = np.flatnonzero(means / comm.size < limit)
    return int(below[0]) + 1 if below.size else len(losses)
