"""Wrong answers to `average_gradients`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    whole(
        "divided_before_the_sum",
        "Which rank has no samples",
        """
        def average_gradients(comm, gradient, count):
            with np.errstate(all="ignore"):
                both = np.append(gradient * count / count, 1.0) * count
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    edit("divided_by_its_own_count", "Each rank divides by its own count", "/ both[-1]", "/ max(count, 1)"),
    edit("divided_by_ranks", "divided is by the number of ranks", "/ both[-1]", "/ comm.size"),
    edit("divided_twice", "the ranks do not matter any more", "/ both[-1]", "/ both[-1] / comm.size"),
    edit("forgot_to_divide", "the sum is not divided", "] / both[-1]", "].copy()"),
    whole(
        "leaves_without_samples",
        "A rank without samples has nothing to add",
        """
        def average_gradients(comm, gradient, count):
            if count == 0:
                return gradient.copy()
            both = np.append(count * gradient, count)
            comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    edit(
        "mean_of_means",
        "That is the mean of the ranks' means",
        """
        both[:-1] = gradient * count
        both[-1] = count
        """,
        """
        both[:-1] = gradient
        both[-1] = 1
        """,
    ),
    whole(
        "never_communicates",
        "That is this rank's gradient alone",
        """
        def average_gradients(comm, gradient, count):
            both = np.append(gradient, 1.0)
            comm.Allreduce(mpi.IN_PLACE, both)
            return gradient.copy()
        """,
    ),
    edit("not_weighted", "but what was added up are means", "gradient * count", "gradient"),
    whole(
        "root_does_not_call",
        "Which rank does not?",
        """
        def average_gradients(comm, gradient, count):
            both = np.append(count * gradient, count)
            if comm.rank > 0:
                comm.Allreduce(mpi.IN_PLACE, both)
            return both[:-1] / both[-1]
        """,
    ),
    whole(
        "sum_for_the_root",
        "Reduce gives the sum to one rank only",
        """
        def average_gradients(comm, gradient, count):
            both = np.append(count * gradient, count)
            total = np.empty_like(both)
            comm.Reduce(both, total, root=0)
            return total[:-1] / total[-1]
        """,
    ),
    edit(
        "sum_of_means",
        "That is the sum of the ranks' means",
        "gradient * count",
        "gradient",
        "] / both[-1]",
        "].copy()",
    ),
    whole(
        "two_calls",
        "costs no latency of its own",
        """
        def average_gradients(comm, gradient, count):
            total, samples = gradient * count, np.array([float(count)])
            comm.Allreduce(mpi.IN_PLACE, total)
            comm.Allreduce(mpi.IN_PLACE, samples)
            return total / samples
        """,
    ),
]
