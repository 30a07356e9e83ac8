"""Wrong answers to `bias_once`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

DX = "comm.Allreduce(mpi.IN_PLACE, dx)"
Z = "comm.Allreduce(mpi.IN_PLACE, z)"

WRONG = [
    shipped("z is too large by P - 1 times"),
    edit("no_bias", "The second bias is missing in z now", "return z + b,", "return z,"),
    edit("own_term", "the sum over the ranks was right", Z, ""),
    edit("mean", "z is a mean over the ranks now", "y @ B", "(y @ B + b) / comm.size", "return z + b,", "return z,"),
    edit("no_backward_sum", "another one on each rank: what comes back", DX, ""),
    edit("sums_the_gradient_first", "was something summed that was whole already", "dz @ B.T", "comm.size * dz @ B.T"),
    edit("mean_of_gradients", "dx is the mean over the ranks", "return z + b, dx,", "return z + b, dx / comm.size,"),
    edit(
        "sums_the_bias",
        "what does a sum of equal gradients give",
        *("dz.sum(axis=0)", "db"),
        DX,
        f"""
        {DX}
        db = dz.sum(axis=0)
        comm.Allreduce(mpi.IN_PLACE, db)
        """,
    ),
    edit("part_of_the_bias", "db is a P-th of what is right", "dz.sum(axis=0)", "dz.sum(axis=0) / comm.size"),
    edit("mean_over_tokens", "db is a mean over the tokens", "dz.sum(axis=0)", "dz.mean(axis=0)"),
    edit(
        "mean_of_equals",
        "db needs nobody else's numbers",
        *("dz.sum(axis=0)", "db / comm.size"),
        DX,
        f"""
        {DX}
        db = dz.sum(axis=0)
        comm.Allreduce(mpi.IN_PLACE, db)
        """,
    ),
    edit(
        "weights_travel",
        "More numbers travel than are needed",
        DX,
        """
        both = np.concatenate([dx.ravel(), np.zeros(A.shape[0])])
        comm.Allreduce(mpi.IN_PLACE, both)
        dx = both[: x.size].reshape(x.shape)
        """,
    ),
]
