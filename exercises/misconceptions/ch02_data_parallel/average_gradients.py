"""Wrong answers to `average_gradients`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

CALL = "comm.Allreduce(mpi.IN_PLACE, both)"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("not_weighted", "but what was added up are means", "gradient * count", "gradient"),
    edit("mean_of_means", "That is the mean of the ranks' means", " * count", "", "[-1] = count", "[-1] = 1"),
    edit("sum_of_means", "All means are added up", " * count", "", "] / both[-1]", "].copy()"),
    edit("forgot_to_divide", "the sum is not divided", "] / both[-1]", "].copy()"),
    edit("divided_by_ranks", "divided is by the number of ranks", "/ both[-1]", "/ comm.size"),
    edit("divided_twice", "the ranks do not matter any more", "/ both[-1]", "/ both[-1] / comm.size"),
    edit(
        "divided_by_its_own_count",
        "Each rank divides by the number of its own samples",
        "/ both[-1]",
        "/ max(count, 1)",
    ),
    edit("divided_before_the_sum", "Which rank has no samples", "gradient * count", "gradient / count * count**2"),
    edit("never_communicates", "That is this rank's gradient alone", "both[:-1] / both[-1]", "gradient.copy()"),
    edit(
        "sum_for_the_root",
        "Reduce gives the sum to one rank only",
        "comm.Allreduce(both, total)",
        "comm.Reduce(both, total, root=0)",
        of="again",
    ),
    edit(
        "leaves_without_samples",
        "A rank without samples has nothing to add",
        CALL,
        f"""
        if count == 0:
            return gradient.copy()
        {CALL}
        """,
    ),
    edit(
        "root_does_not_call",
        "Which rank does not?",
        CALL,
        f"""
        if comm.rank > 0:
            {CALL}
        """,
    ),
    edit(
        "two_calls",
        "costs no latency of its own",
        CALL,
        """
        comm.Allreduce(mpi.IN_PLACE, both[:-1])
        comm.Allreduce(mpi.IN_PLACE, both[-1:])
        """,
    ),
    edit("never_divides_by_0", "was something small added", "/ both[-1]", "/ (both[-1] + 1e-8)"),
    edit(
        "counts_in_32_bits", "Write the gradient of the sum", "[-1] = count", "[-1] = np.int64(count).astype(np.int32)"
    ),
    whole(
        "a_row_for_each_rank",
        "are all that the others need of it",
        """
        def average_gradients(comm, gradient, count):
            table = np.zeros((comm.size, gradient.size + 1))
            table[comm.rank] = np.append(gradient * count, count)
            comm.Allreduce(mpi.IN_PLACE, table)
            both = table.sum(axis=0)
            return both[:-1] / both[-1]
        """,
    ),
    edit("keeps_the_count", "the count is no part of it", "both[:-1] / both[-1]", "both / both[-1]"),
    edit("short_count", "was something small added", "both[-1] = count", "both[-1] = np.float32(count)"),
]
