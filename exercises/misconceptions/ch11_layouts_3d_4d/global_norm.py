"""Wrong answers to `global_norm` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

SUM = "comm.Allreduce(mpi.IN_PLACE, squares)"

WRONG = [
    edit("squares", "That is the sum of squares: the root is missing", "math.sqrt(squares.item())", "squares.item()"),
    edit(
        "one_after_the_other",
        "Asked for is one call",
        SUM,
        """
        comm.Allreduce(mpi.IN_PLACE, squares)
        comm.Allreduce(mpi.IN_PLACE, np.zeros(1))
        """,
    ),
    whole(
        "a_number_for_each_kind",
        "More numbers travel than are needed",
        """
        def global_norm(comm, t, p, gradients):
            d = comm.size // (t * p)
            kinds = ["cut", "copied", "tied"]
            squares = np.array([sum(float((a * a).sum()) for k, a in gradients if k == kind) for kind in kinds])
            comm.Allreduce(mpi.IN_PLACE, squares)
            return float(np.sqrt((squares / [d, d * t, d * min(p, 2)]).sum()))
        """,
    ),
    edit("in_an_array", "It should be one number", "math.sqrt(squares.item())", "np.sqrt(squares)"),
    whole(
        "by_rank_0",
        "Allreduce alone does it",
        """
        def global_norm(comm, t, p, gradients):
            d = comm.size // (t * p)
            copies = {"cut": d, "copied": d * t, "tied": d * min(p, 2)}
            squares = np.array([sum(float((array * array).sum()) / copies[kind] for kind, array in gradients)])
            total = np.zeros(1)
            comm.Reduce(squares, total)
            comm.Bcast(total)
            return math.sqrt(total.item())
        """,
    ),
]
