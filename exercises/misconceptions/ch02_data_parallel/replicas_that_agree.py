"""Wrong answers to `replicas_that_agree`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

LENGTH = "length = np.linalg.norm(gradient)"
SUM = "comm.Allreduce(mpi.IN_PLACE, gradient)"

WRONG = [
    shipped("The ranks begin with different centres"),
    edit("centre_of_its_own", "The centres part in each step", "(mean / comm.size -", "(x.mean(axis=0) -"),
    edit("forgot_to_divide", "The centre moves towards the sum of the ranks' means", "mean / comm.size -", "mean -"),
    edit("gradient_not_divided", "The ranks' gradients are added up and not divided", "gradient /= comm.size", ""),
    edit(
        "the_other_way_round",
        "The right arrays, the wrong way round",
        "return weights, centre",
        "return centre, weights",
    ),
    edit(
        "centres_averaged_at_the_end",
        "Until then each has computed with one of its own",
        "return weights, centre",
        """
        comm.Allreduce(mpi.IN_PLACE, centre)
        return weights, centre / comm.size
        """,
        of="centre_of_its_own",
    ),
    edit(
        "centres_averaged_at_the_start",
        "The single process begins with rank 0",
        "comm.Bcast(centre, root=0)",
        """
        comm.Allreduce(mpi.IN_PLACE, centre)
        centre /= comm.size
        """,
    ),
    edit(
        "broadcasts_in_every_step",
        "a broadcast hides that the replicas differ",
        "weights -= rate * gradient",
        """
        weights -= rate * gradient
        comm.Bcast(weights, root=0)
        """,
    ),
    edit(
        "length_of_its_own",
        "each shortens it by another factor",
        *(LENGTH, ""),
        SUM,
        f"""
        {LENGTH}
        {SUM}
        """,
    ),
    edit(
        "mean_of_the_lengths",
        "the length of a mean is not the mean of the lengths",
        *(LENGTH, "length = length[0] / comm.size"),
        SUM,
        f"""
        length = np.array([np.linalg.norm(gradient)])
        comm.Allreduce(mpi.IN_PLACE, length)
        {SUM}
        """,
    ),
    edit(
        "shortened_before_the_mean",
        "each shortens its own gradient before the mean is taken",
        SUM,
        f"""
        gradient *= min(1, limit / np.linalg.norm(gradient))
        {SUM}
        """,
        *("length > limit", "False"),
    ),
    edit("weights_of_their_own", "the broadcast of rank 0's is missing", "comm.Bcast(weights, root=0)", ""),
    edit(
        "centre_moves_behind",
        "Follow the first step of a single process",
        *("0.1 * (mean", "0.0 * (mean"),
        *("rate * gradient", "rate * gradient; centre += 0.1 * (mean / comm.size - centre)"),
    ),
    edit(
        "weights_averaged_at_the_start",
        "if the ranks' weights are averaged at the start",
        "comm.Bcast(weights, root=0)",
        """
        comm.Allreduce(mpi.IN_PLACE, weights)
        weights /= comm.size
        """,
    ),
    edit(
        "length_of_the_sum",
        "The length is that of the sum over the ranks",
        *(LENGTH, ""),
        "gradient /= comm.size",
        f"""
        {LENGTH}
        gradient /= comm.size
        """,
    ),
    edit(
        "longest_of_the_ranks",
        "by the longest gradient of a rank",
        *(LENGTH, "length = length[0]"),
        SUM,
        f"""
        length = np.array([np.linalg.norm(gradient)])
        comm.Allreduce(mpi.IN_PLACE, length, op=mpi.MAX)
        {SUM}
        """,
    ),
    edit(
        "weights_averaged_in_every_step",
        "Are samples sent, or weights",
        "weights -= rate * gradient",
        """
        weights -= rate * gradient
        comm.Allreduce(mpi.IN_PLACE, weights)
        weights /= comm.size
        """,
    ),
    edit("gradients_of_their_own", "Print centre, gradient and length", SUM, "", "gradient /= comm.size", ""),
    edit("never_shortened", "What is `limit` for", "gradient *= limit / length", "pass"),
    edit("only_the_weights", "Return two arrays", "return weights, centre", "return weights"),
    edit("float32", "only the first ones are right", "(mean / comm.size -", "(np.float32(mean / comm.size) -"),
    edit(
        "counts_the_samples",
        "Are samples sent, or weights",
        "weights -= rate * gradient",
        "weights -= rate * gradient\ncomm.Allreduce(mpi.IN_PLACE, np.array([float(len(y))]))",
    ),
    edit("barriers", "It moves no data", "    z = x - centre", "    comm.Barrier(); z = x - centre"),
    edit(
        "only_the_root_broadcasts",
        "A broadcast, too, is a call of all",
        *("comm.Bcast(centre, root=0)", "if comm.rank == 0:\n    comm.Bcast(centre, root=0)"),
    ),
]
