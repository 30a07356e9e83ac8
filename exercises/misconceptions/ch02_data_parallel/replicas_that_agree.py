"""Wrong answers to `replicas_that_agree`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("The ranks begin with different centres"),
    whole(
        "broadcasts_in_every_step",
        "a broadcast hides that the replicas differ",
        """
        def replicas_that_agree(comm, weights, centre, batches, rate, limit):
            comm.Bcast(weights, root=0)
            comm.Bcast(centre, root=0)
            for x, y in batches:
                centre += 0.1 * (x.mean(axis=0) - centre)
                z = x - centre
                gradient = z.T @ (z @ weights - y) / len(y)
                length = np.linalg.norm(gradient)
                comm.Allreduce(mpi.IN_PLACE, gradient)
                gradient /= comm.size
                if length > limit:
                    gradient *= limit / length
                weights -= rate * gradient
                comm.Bcast(weights, root=0)
                comm.Bcast(centre, root=0)
            return weights, centre
        """,
    ),
    edit(
        "centre_of_its_own",
        "The centres part in each step",
        """
        mean = x.mean(axis=0)
        comm.Allreduce(mpi.IN_PLACE, mean)
        centre += 0.1 * (mean / comm.size - centre)
        """,
        "centre += 0.1 * (x.mean(axis=0) - centre)",
    ),
    edit(
        "centres_averaged_at_the_end",
        "Until then each has computed with one of its own",
        """
        mean = x.mean(axis=0)
        comm.Allreduce(mpi.IN_PLACE, mean)
        centre += 0.1 * (mean / comm.size - centre)
        """,
        "centre += 0.1 * (x.mean(axis=0) - centre)",
        "return weights, centre",
        """
        comm.Allreduce(mpi.IN_PLACE, centre)
        return weights, centre / comm.size
        """,
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
    edit("forgot_to_divide", "The centre moves towards the sum of the ranks' means", "mean / comm.size -", "mean -"),
    edit("gradient_not_divided", "The ranks' gradients are added up and not divided", "gradient /= comm.size", ""),
    edit(
        "length_of_its_own",
        "each shortens it by another factor",
        "centre += 0.1 * (x.mean(axis=0) - centre)",
        """
        mean = x.mean(axis=0)
        comm.Allreduce(mpi.IN_PLACE, mean)
        centre += 0.1 * (mean / comm.size - centre)
        """,
        """
        weights -= rate * gradient
        comm.Bcast(weights, root=0)
        comm.Bcast(centre, root=0)
        """,
        "weights -= rate * gradient",
        of="broadcasts_in_every_step",
    ),
    edit(
        "mean_of_the_lengths",
        "the length of a mean is not the mean of the lengths",
        "gradient = z.T @ (z @ weights - y) / len(y)",
        """
        gradient = z.T @ (z @ weights - y) / len(y)
        length = np.array([np.linalg.norm(gradient)])
        comm.Allreduce(mpi.IN_PLACE, length)
        length = length[0] / comm.size
        """,
        "length = np.linalg.norm(gradient)",
        "",
    ),
    whole(
        "shortened_before_the_mean",
        "each shortens its own gradient before the mean is taken",
        """
        def replicas_that_agree(comm, weights, centre, batches, rate, limit):
            comm.Bcast(weights, root=0)
            comm.Bcast(centre, root=0)
            for x, y in batches:
                mean = x.mean(axis=0)
                comm.Allreduce(mpi.IN_PLACE, mean)
                centre += 0.1 * (mean / comm.size - centre)
                z = x - centre
                gradient = z.T @ (z @ weights - y) / len(y)
                length = np.linalg.norm(gradient)
                if length > limit:
                    gradient *= limit / length
                comm.Allreduce(mpi.IN_PLACE, gradient)
                gradient /= comm.size
                weights -= rate * gradient
            return weights, centre
        """,
    ),
    edit(
        "the_other_way_round",
        "The right arrays, the wrong way round",
        "return weights, centre",
        "return centre, weights",
    ),
]
