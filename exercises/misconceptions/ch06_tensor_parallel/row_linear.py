"""Wrong answers to `row_linear`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

CALL = "comm.Allreduce(mpi.IN_PLACE, y)"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("bias_everywhere", "once for every rank", "y = x @ weight", "y = x @ weight + bias", "y + bias,", "y,"),
    edit("no_bias", "The bias is missing in y", "y + bias,", "y,"),
    edit("own_term", "this rank's term alone, and the bias", CALL, ""),
    edit("own_term_without", "this rank's term alone, without the bias", CALL, "", "y + bias,", "y,"),
    edit("mean", "y is the mean over the ranks", "y + bias,", "y / comm.size + bias,"),
    edit(
        "sums_the_input_gradient",
        "have met its own rows of A only",
        *("dy @ weight.T,", "dx,"),
        CALL,
        f"""
        {CALL}
        dx = dy @ weight.T
        comm.Allreduce(mpi.IN_PLACE, dx)
        """,
    ),
    edit(
        "sums_the_output_gradient",
        "an all-reduce adds up equal gradients",
        CALL,
        f"""
        {CALL}
        dy = dy.copy()
        comm.Allreduce(mpi.IN_PLACE, dy)
        """,
    ),
    edit(
        "sums_the_bias",
        "an all-reduce adds up equal numbers",
        *("dy.sum(axis=0)", "db"),
        CALL,
        f"""
        {CALL}
        db = dy.sum(axis=0)
        comm.Allreduce(mpi.IN_PLACE, db)
        """,
    ),
    edit("mean_over_tokens", "dy is the gradient of the loss already: divide", "x.T @ dy,", "x.T @ dy / len(x),"),
    edit("mean_bias", "That is a mean over the tokens", "dy.sum(axis=0)", "dy.mean(axis=0)"),
    edit(
        "sums_the_weights",
        "dweight is summed over the ranks",
        *("x.T @ dy,", "dw,"),
        CALL,
        f"""
        {CALL}
        dw = x.T @ dy
        comm.Allreduce(mpi.IN_PLACE, dw)
        """,
    ),
    edit("pickles", "pickles its object", CALL, "y = comm.allreduce(y)"),
    edit("one_call_more", "Asked for is one call", CALL, f"{CALL}; comm.Allreduce(mpi.IN_PLACE, np.zeros(1))"),
    edit(
        "more_travels",
        "More numbers travel than are needed",
        CALL,
        """
        both = np.concatenate([y.ravel(), np.zeros(dy.size)])
        comm.Allreduce(mpi.IN_PLACE, both)
        y = both[: dy.size].reshape(dy.shape)
        """,
    ),
]
