"""Wrong answers to `batch_statistics`, each with words of the hint that it must earn."""

from exercises.grading.wrong import whole

WRONG = [
    whole(
        "empty_rank",
        "A rank without rows has no mean",
        """
        def batch_statistics(comm, x):
            k = x.shape[1]
            with np.errstate(all="ignore"):
                m = x.sum(axis=0) / len(x) if len(x) else np.full(k, np.nan)
            row, table = np.concatenate([[len(x)], m, ((x - m) ** 2).sum(axis=0)]), np.empty((comm.size, 1 + 2 * k))
            comm.Allgather(row, table)
            n, m, M = table[:, :1], table[:, 1 : 1 + k], table[:, 1 + k :]
            mean = (n * m).sum(axis=0) / n.sum()
            return mean, (M + n * (m - mean) ** 2).sum(axis=0) / n.sum()
        """,
    ),
    whole(
        "gathers_the_rows",
        "pickles its object",
        """
        def batch_statistics(comm, x):
            rows = np.concatenate(comm.allgather(x))
            return rows.mean(axis=0), rows.var(axis=0)
        """,
    ),
    whole(
        "mean_of_means",
        "That is the mean of the ranks' means",
        """
        def batch_statistics(comm, x):
            k = x.shape[1]
            both = np.concatenate([x.mean(axis=0), x.var(axis=0)])
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:k] / comm.size, both[k:] / comm.size
        """,
    ),
    whole(
        "one_less",
        "divided by one less than the number of samples",
        """
        def batch_statistics(comm, x):
            n, k = x.shape
            m = x.mean(axis=0) if n else np.zeros(k)
            row, table = np.concatenate([[n], m, ((x - m) ** 2).sum(axis=0)]), np.empty((comm.size, 1 + 2 * k))
            comm.Allgather(row, table)
            n, m, M = table[:, :1], table[:, 1 : 1 + k], table[:, 1 + k :]
            mean = (n * m).sum(axis=0) / n.sum()
            return mean, (M + n * (m - mean) ** 2).sum(axis=0) / (n.sum() - 1)
        """,
    ),
    whole(
        "own_rows",
        "That is of this rank's rows alone",
        """
        def batch_statistics(comm, x):
            return x.mean(axis=0), x.var(axis=0)
        """,
    ),
    whole(
        "squares_minus_square",
        "Many digits are lost",
        """
        def batch_statistics(comm, x):
            k = x.shape[1]
            both = np.concatenate([x.sum(axis=0), (x * x).sum(axis=0), [len(x)]])
            comm.Allreduce(mpi.IN_PLACE, both)
            mean = both[:k] / both[-1]
            return mean, both[k:-1] / both[-1] - mean**2
        """,
    ),
    whole(
        "table_of_rows",
        "do rows of x travel?",
        """
        def batch_statistics(comm, x):
            most = 100
            table = np.zeros((comm.size, most, x.shape[1] + 1))
            table[comm.rank, : len(x), :-1] = x
            table[comm.rank, : len(x), -1] = 1
            comm.Allreduce(mpi.IN_PLACE, table)
            rows = table[table[..., -1] == 1][:, :-1]
            return rows.mean(axis=0), rows.var(axis=0)
        """,
    ),
    whole(
        "three_calls",
        "Numbers that are known at the same time",
        """
        def batch_statistics(comm, x):
            n, total, squares = np.array([float(len(x))]), x.sum(axis=0), (x * x).sum(axis=0)
            for each in (n, total, squares):
                comm.Allreduce(mpi.IN_PLACE, each)
            return total / n, squares / n - (total / n) ** 2
        """,
    ),
    whole(
        "two_passes",
        "Two calls: the mean first",
        """
        def batch_statistics(comm, x):
            both = np.append(x.sum(axis=0), len(x))
            comm.Allreduce(mpi.IN_PLACE, both)
            mean = both[:-1] / both[-1]
            squares = ((x - mean) ** 2).sum(axis=0)
            comm.Allreduce(mpi.IN_PLACE, squares)
            return mean, squares / both[-1]
        """,
    ),
    whole(
        "variances_averaged",
        "how far a rank's mean is from the mean of all",
        """
        def batch_statistics(comm, x):
            k = x.shape[1]
            row = np.concatenate([x.sum(axis=0), x.var(axis=0) * len(x), [len(x)]])
            comm.Allreduce(mpi.IN_PLACE, row)
            return row[:k] / row[-1], row[k:-1] / row[-1]
        """,
    ),
]
