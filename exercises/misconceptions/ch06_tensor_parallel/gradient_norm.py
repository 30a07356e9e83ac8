"""Wrong answers to `gradient_norm`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

CALL = "comm.Allreduce(mpi.IN_PLACE, total)"
RESULT = "return math.sqrt(total.item() + squares[1])"

WRONG = [
    edit(
        "counts_copies", "What every rank has whole counts P times", "squares[:1]", "[sum(squares)]", "+ squares[1]", ""
    ),
    edit("own_norm", "That is the norm of what this rank has", CALL, ""),
    edit(
        "sum_of_norms",
        "Norms were added up over the ranks",
        *("np.array(squares[:1])", "np.array([math.sqrt(sum(squares))])"),
        *(RESULT, "return float(total[0])"),
    ),
    edit(
        "largest",
        "That is the largest of the ranks' norms",
        *("np.array(squares[:1])", "np.array([math.sqrt(sum(squares))])"),
        *("total)", "total, mpi.MAX)"),
        *(RESULT, "return float(total[0])"),
    ),
    edit("no_root", "the root is missing", "math.sqrt(total.item() + squares[1])", "float(total.item() + squares[1])"),
    edit("mean", "The squares of what is cut were averaged", "total.item() +", "total.item() / comm.size +"),
    edit("cut_only", "What is whole is missing in it", "+ squares[1]", ""),
    edit("whole_only", "What is cut is missing in it", "total.item() + squares[1]", "squares[1]"),
    edit("wrong_way_round", "It is the wrong way round", "(True, False)", "(False, True)"),
    edit("two_calls", "Asked for is one call", CALL, f"{CALL}; comm.Allreduce(mpi.IN_PLACE, np.zeros(1))"),
    edit("pickles", "pickles its object", CALL, "total = np.array(comm.allreduce(total))"),
    whole(
        "sends_all_squares",
        "More numbers travel than are needed",
        """
        def gradient_norm(comm, gradients, cut):
            squares = np.array([float((g * g).sum()) for g in gradients])
            squares[~np.array(cut)] /= comm.size
            comm.Allreduce(mpi.IN_PLACE, squares)
            return math.sqrt(squares.sum())
        """,
    ),
    whole(
        "sums_the_gradients",
        "and need not travel",
        """
        def gradient_norm(comm, gradients, cut):
            flat = np.concatenate([g.ravel() for g in gradients])
            comm.Allreduce(mpi.IN_PLACE, flat)
            return float(np.linalg.norm(flat))
        """,
    ),
]
