"""Divides the squares by one less."""

import numpy as np

EARNS = "divided by one less than the number of samples"


def batch_statistics(comm, x):
    n, k = x.shape
    m = x.mean(axis=0) if n else np.zeros(k)
    row, table = np.concatenate([[n], m, ((x - m) ** 2).sum(axis=0)]), np.empty((comm.size, 1 + 2 * k))
    comm.Allgather(row, table)
    n, m, M = table[:, :1], table[:, 1 : 1 + k], table[:, 1 + k :]
    mean = (n * m).sum(axis=0) / n.sum()
    return mean, (M + n * (m - mean) ** 2).sum(axis=0) / (n.sum() - 1)
