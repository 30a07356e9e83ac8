"""Gathers all rows on all ranks."""

import numpy as np

EARNS = "pickles its object"


def batch_statistics(comm, x):
    rows = np.concatenate(comm.allgather(x))
    return rows.mean(axis=0), rows.var(axis=0)
