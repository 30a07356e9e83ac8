"""Wrong answers to `accumulate`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "means_by_samples",
        "but what was added up are means",
        """
        def accumulate(comm, gradients, counts, size):
            both = np.zeros(size + 1)
            both[:-1] = sum(gradients)
            both[-1] = sum(counts)
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    whole(
        "a_row_for_each",
        "The micro-batches travel one by one",
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
    whole(
        "adds_into_the_first",
        "The caller still needs its gradients",
        """
        def accumulate(comm, gradients, counts, size):
            for gradient, count in zip(gradients, counts):
                gradient *= count
            for gradient in gradients[1:]:
                gradients[0] += gradient
            total = gradients[0] if gradients else np.zeros(size)
            both = np.append(total, sum(counts))
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    edit("by_micro_batches", "divided is by the number of micro-batches", "[-1] += count", "[-1] += 1"),
    edit("divided_twice", "Divided twice", "/ both[-1]", "/ both[-1] / comm.size"),
    whole(
        "divides_by_k",
        "Each micro-batch counts the same",
        """
        def accumulate(comm, gradients, counts, size):
            total = np.zeros(size)
            for gradient in gradients:
                total += gradient / len(gradients)
            comm.Allreduce(mpi.IN_PLACE, total)
            return total / comm.size
        """,
    ),
    edit("forgot_to_divide", "the sum must be divided by the number of all samples", "] / both[-1]", "].copy()"),
    whole(
        "length_of_a_sum",
        "from which to take the length",
        """
        def accumulate(comm, gradients, counts, size):
            weights = np.array(counts)[:, None]
            both = np.append((np.array(gradients) * weights).sum(axis=0), sum(counts))
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    whole(
        "mean_of_ranks",
        "On each rank it is right",
        """
        def accumulate(comm, gradients, counts, size):
            total = np.zeros(size)
            for gradient, count in zip(gradients, counts):
                total += gradient * count / sum(counts)
            comm.Allreduce(mpi.IN_PLACE, total)
            return total / comm.size
        """,
    ),
    edit("never_communicates", "Nothing was sent: each rank has", "comm.Allreduce(mpi.IN_PLACE, both)", ""),
    edit(
        "overwrites",
        "others are overwritten",
        """
        both[:-1] += count * gradient
        both[-1] += count
        """,
        """
        both[:-1] = count * gradient
        both[-1] = count
        """,
    ),
    edit(
        "plain_mean_on_the_rank",
        "Between the ranks the weights are right",
        "both[:-1] = sum(gradients)",
        """
        if gradients:
            both[:-1] = sum(gradients) / len(gradients) * sum(counts)
        """,
        of="means_by_samples",
    ),
    whole(
        "stacks_nothing",
        "A rank may have no micro-batches at all",
        """
        def accumulate(comm, gradients, counts, size):
            both = sum(np.concatenate([gradient * count, [count]]) for gradient, count in zip(gradients, counts))
            both = np.concatenate([both]) if len(counts) else np.concatenate([])
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    whole(
        "synchronises_before_the_end",
        "Was something added after the Allreduce",
        """
        def accumulate(comm, gradients, counts, size):
            both = np.zeros(size + 1)
            rest = np.zeros(size + 1)
            for k, (gradient, count) in enumerate(zip(gradients, counts)):
                (rest if k else both)[:] += np.append(count * gradient, count)
            comm.Allreduce(mpi.IN_PLACE, both)
            both += rest
            return both[:-1] / both[-1]
        """,
    ),
    whole(
        "synchronises_every_time",
        "One for each micro-batch",
        """
        def accumulate(comm, gradients, counts, size):
            total, samples = np.zeros(size), 0
            for gradient, count in zip(gradients, counts):
                both = np.append(count * gradient, count)
                comm.Allreduce(mpi.IN_PLACE, both)
                total, samples = total + both[:-1], samples + both[-1]
            return total / samples
        """,
    ),
    whole(
        "two_calls",
        "Two calls are two latencies",
        """
        def accumulate(comm, gradients, counts, size):
            total, samples = np.zeros(size), np.array([float(sum(counts))])
            for gradient, count in zip(gradients, counts):
                total += count * gradient
            comm.Allreduce(mpi.IN_PLACE, total)
            comm.Allreduce(mpi.IN_PLACE, samples)
            return total / samples
        """,
    ),
]
