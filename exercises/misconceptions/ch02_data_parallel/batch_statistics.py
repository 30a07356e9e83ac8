"""Wrong answers to `batch_statistics`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("empty_rank", "A rank without rows has no mean", "if n:", 'with np.errstate(all="ignore"):'),
    edit(
        "gathers_the_rows", "pickles its object", "comm.Allgather(row, table)", "table = np.array(comm.allgather(row))"
    ),
    edit("mean_of_means", "That is the mean of the ranks' means", "(n * m).sum(axis=0) / n.sum()", "m.mean(axis=0)"),
    edit("one_less", "divided by one less", "** 2).sum(axis=0) / n.sum()", "** 2).sum(axis=0) / (n.sum() - 1)"),
    edit("variances_averaged", "how far a rank's mean is from the mean of all", "(M + n * (m - mean) ** 2)", "M"),
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
            both = np.concatenate([[len(x)], x.sum(axis=0), (x * x).sum(axis=0)])
            comm.Allreduce(mpi.IN_PLACE, both)
            mean, squares = np.split(both[1:] / both[0], 2)
            return mean, squares - mean**2
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
        "table_of_rows",
        "do rows of x travel?",
        """
        def batch_statistics(comm, x):
            table = np.zeros((comm.size, 3000, x.shape[1] + 1))
            table[comm.rank, : len(x)] = np.insert(x, 0, 1, axis=1)
            comm.Allreduce(mpi.IN_PLACE, table)
            rows = table[table[..., 0] == 1][:, 1:]
            return rows.mean(axis=0), rows.var(axis=0)
        """,
    ),
    edit(
        "standard_deviation",
        "The variance is its square",
        *("return mean, (", "return mean, np.sqrt(("),
        *("** 2).sum(axis=0) / n.sum()", "** 2).sum(axis=0) / n.sum())"),
    ),
    edit(
        "float32",
        "Its first digits are right",
        "comm.Allgather(row,",
        "comm.Allgather(row.astype(np.float32).astype(float),",
    ),
    whole(
        "a_million_taken_off",
        "Its first digits are right",
        """
        def batch_statistics(comm, x):
            x = x - 1e6
            both = np.concatenate([[len(x)], x.sum(axis=0), (x * x).sum(axis=0)])
            comm.Allreduce(mpi.IN_PLACE, both)
            mean, squares = np.split(both[1:] / both[0], 2)
            return mean + 1e6, squares - mean**2
        """,
    ),
    whole(
        "millions_taken_off",
        "which two sums over all ranks make the mean?",
        """
        def batch_statistics(comm, x):
            off = np.round(x.mean(axis=0), -6) if len(x) else 0.0
            both = np.concatenate([[len(x)], (x - off).sum(axis=0), ((x - off) ** 2).sum(axis=0)])
            comm.Allreduce(mpi.IN_PLACE, both)
            mean, squares = np.split(both[1:] / both[0], 2)
            return mean + off, squares - mean**2
        """,
    ),
    edit(
        "as_a_row",
        "One mean and one variance for each column",
        "(n * m).sum(axis=0)",
        "(n * m).sum(axis=0, keepdims=True)",
    ),
    edit(
        "barrier_before",
        "It moves no data, and does not help",
        "comm.Allgather(row, table)",
        "comm.Barrier()\ncomm.Allgather(row, table)",
    ),
    edit(
        "sums_rows",
        "What can a rank say of its rows that takes as many numbers",
        *("comm.Allgather(row, table)", "comm.Allreduce(mpi.IN_PLACE, x.copy())\ncomm.Allgather(row, table)"),
    ),
]
