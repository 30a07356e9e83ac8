"""Wrong answers to `column_linear`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

CALL = "comm.Allreduce(mpi.IN_PLACE, dx)"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("no_sum", "this rank's term alone: the gradient that comes back", CALL, ""),
    edit("mean", "dx is the mean over the ranks", "return y, dx,", "return y, dx / comm.size,"),
    edit("no_bias", "The bias is missing in y", "x @ weight + bias", "x @ weight"),
    edit(
        "sums_the_output",
        "which are complete: they lie beside",
        CALL,
        f"""
        comm.Allreduce(mpi.IN_PLACE, y)
        {CALL}
        """,
    ),
    edit(
        "gathers_the_output",
        "y has the columns of all ranks",
        CALL,
        f"""
        y = np.concatenate(comm.allgather(y), axis=1)
        {CALL}
        """,
    ),
    edit(
        "sums_the_weights",
        "dweight is summed over the ranks",
        *("return y, dx, x.T @ dy, dy", "return y, dx, dw, dy"),
        CALL,
        f"""
        dw = x.T @ dy
        comm.Allreduce(mpi.IN_PLACE, dw)
        {CALL}
        """,
    ),
    edit("mean_over_tokens", "dy is the gradient of the loss already: divide", "x.T @ dy,", "x.T @ dy / len(x),"),
    edit("turned", "dweight is turned over", "x.T @ dy,", "dy.T @ x,"),
    edit("mean_bias", "That is a mean over the tokens", "dy.sum(axis=0)", "dy.mean(axis=0)"),
    edit("bias_over_outputs", "Summed over the outputs", "dy.sum(axis=0)", "dy.sum(axis=1)"),
    edit("bias_of_a_token", "The bias was added for every token", "dy.sum(axis=0)", "dy.copy()"),
    edit(
        "sums_the_bias",
        "dbias is summed over the ranks",
        *("return y, dx, x.T @ dy, dy.sum(axis=0)", "return y, dx, x.T @ dy, db"),
        CALL,
        f"""
        db = dy.sum(axis=0)
        comm.Allreduce(mpi.IN_PLACE, db)
        {CALL}
        """,
    ),
    edit("sums_and_keeps_nothing", "Return 4 results", "return y, dx, x.T @ dy, dy.sum(axis=0)", "return y, dx"),
    edit(
        "pickles",
        "pickles its object",
        CALL,
        "dx = comm.allreduce(dx)",
    ),
    edit("one_call_more", "Asked for is one call", CALL, f"{CALL}; comm.Allreduce(mpi.IN_PLACE, np.zeros(1))"),
    edit(
        "all_gradients_travel",
        "More numbers travel than are needed",
        CALL,
        """
        both = np.concatenate([dx.ravel(), np.zeros(x.size)])
        comm.Allreduce(mpi.IN_PLACE, both)
        dx = both[: x.size].reshape(x.shape)
        """,
    ),
]
