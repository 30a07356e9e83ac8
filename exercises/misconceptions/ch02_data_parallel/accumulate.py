"""Wrong answers to `accumulate`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("means_by_samples", "but what was added up are means", "+= count * gradient", "+= gradient"),
    edit("by_micro_batches", "divided is by the number of micro-batches", "[-1] += count", "[-1] += 1"),
    edit(
        "divides_before_the_sum",
        "these means are added up: too much",
        "comm.Allreduce(mpi.IN_PLACE, both)",
        "both[:-1] /= max(both[-1], 1); comm.Allreduce(mpi.IN_PLACE, both); both[-1] = 1",
    ),
    edit("divided_twice", "Divided twice", "/ both[-1]", "/ both[-1] / comm.size"),
    edit("forgot_to_divide", "the sum is not divided", "] / both[-1]", "].copy()"),
    edit("overwrites", "others are overwritten", "[:-1] += count", "[:-1] = count", "[-1] += count", "[-1] = count"),
    edit("never_communicates", "Nothing was sent: each rank has", "comm.Allreduce(mpi.IN_PLACE, both)", ""),
    edit(
        "divides_by_k",
        "Each micro-batch counts the same",
        *("+= count * gradient", "+= gradient / len(gradients)", "/ both[-1]", "/ comm.size"),
    ),
    edit(
        "mean_of_ranks",
        "On each rank it is right",
        *("+= count * gradient", "+= count * gradient / sum(counts)", "/ both[-1]", "/ comm.size"),
    ),
    edit(
        "plain_mean_on_the_rank",
        "Between the ranks the weights are right",
        "+= count * gradient",
        "+= gradient / len(gradients) * sum(counts)",
    ),
    edit(
        "length_of_a_sum", "from which to take the length", "np.zeros(size + 1)", "np.append(0.0 * sum(gradients), 0.0)"
    ),
    edit(
        "stacks_nothing",
        "A rank may have no micro-batches at all",
        "np.reshape(rows, (len(counts), size + 1))",
        "np.stack(rows)",
        of="again",
    ),
    edit(
        "adds_into_the_first",
        "The caller still needs",
        "both[:-1] += count * gradient",
        """
        gradient *= count
        both[:-1] += gradient
        """,
    ),
    edit(
        "two_calls",
        "Two calls are two latencies",
        "comm.Allreduce(mpi.IN_PLACE, both)",
        """
        comm.Allreduce(mpi.IN_PLACE, both[:-1])
        comm.Allreduce(mpi.IN_PLACE, both[-1:])
        """,
    ),
    edit(
        "synchronises_every_time",
        "One for each micro-batch",
        *("comm.Allreduce(mpi.IN_PLACE, both)", ""),
        """
        both[:-1] += count * gradient
        both[-1] += count
        """,
        """
        more = np.append(count * gradient, count)
        comm.Allreduce(mpi.IN_PLACE, more)
        both += more
        """,
    ),
    edit(
        "synchronises_before_the_end",
        "Some micro-batches are missing, or count too much",
        *("zip(gradients, counts)", "zip(gradients[:-1], counts)"),
        "comm.Allreduce(mpi.IN_PLACE, both)",
        """
        comm.Allreduce(mpi.IN_PLACE, both)
        if counts:
            both += np.append(counts[-1] * gradients[-1], counts[-1])
        """,
    ),
    whole(
        "a_row_for_each",
        "Do the micro-batches travel one by one",
        """
        def accumulate(comm, gradients, counts, size):
            rows = np.zeros((16, size + 1))
            for row, gradient, count in zip(rows, gradients, counts):
                row[:-1], row[-1] = count * gradient, count
            comm.Allreduce(mpi.IN_PLACE, rows)
            both = rows.sum(axis=0)
            return both[:-1] / both[-1]
        """,
    ),
    edit(
        "counts_in_32_bits",
        "Some micro-batches are missing, or count too much",
        "[-1] += count",
        "[-1] += np.int64(count).astype(np.int32)",
    ),
    edit(
        "eight_at_most",
        "Some micro-batches are missing, or count too much",
        "zip(gradients, counts)",
        "zip(gradients[:8], counts)",
    ),
    edit("keeps_the_count", "which elements belong there", "both[:-1] / both[-1]", "both / both[-1]"),
    edit("short_counts", "only the first ones are right", "both[-1] += count", "both[-1] += np.float32(count)"),
    edit(
        "only_with_micro_batches",
        "What can all ranks call equally often?",
        "comm.Allreduce(mpi.IN_PLACE, both)",
        """
        if gradients:
            comm.Allreduce(mpi.IN_PLACE, both)
        """,
    ),
    edit("size_of_the_first", "nothing to index, nothing to divide by", "np.zeros(size", "np.zeros(gradients[0].size"),
]
