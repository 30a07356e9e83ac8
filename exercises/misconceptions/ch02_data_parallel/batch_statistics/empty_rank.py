"""Takes the mean of no rows."""

import numpy as np

EARNS = "A rank without rows has no mean"


def batch_statistics(comm, x):
    k = x.shape[1]
    with np.errstate(all="ignore"):
        m = x.sum(axis=0) / len(x) if len(x) else np.full(k, np.nan)
    row, table = np.concatenate([[len(x)], m, ((x - m) ** 2).sum(axis=0)]), np.empty((comm.size, 1 + 2 * k))
    comm.Allgather(row, table)
    n, m, M = table[:, :1], table[:, 1 : 1 + k], table[:, 1 + k :]
    mean = (n * m).sum(axis=0) / n.sum()
    return mean, (M + n * (m - mean) ** 2).sum(axis=0) / n.sum()
