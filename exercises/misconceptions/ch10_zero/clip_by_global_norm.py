"""Wrong answers to `clip_by_global_norm`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

CALL = "comm.Allreduce(mpi.IN_PLACE, squares)"
SCALE = "clipped *= limit / norm"

WRONG = [
    shipped("Norms were added up over the ranks"),
    edit("local_norm", "That is the norm of this rank's shard", CALL, "squares *= replicas"),
    edit(
        "padding",
        "The padding is in it",
        *("squares = np.array([(clipped * clipped).sum() / replicas])", "squares = np.array([(gradient**2).sum()])"),
        *("norm = math.sqrt(squares.item())", "norm = math.sqrt(squares.item() / replicas)"),
    ),
    edit("copies", "Every element counts once for each replica. The", ".sum() / replicas", ".sum()"),
    edit(
        "copies_behind_the_root",
        "The norm was divided by the replicas",
        *(".sum() / replicas", ".sum()"),
        *("math.sqrt(squares.item())", "math.sqrt(squares.item()) / replicas"),
    ),
    edit("mean", "The squares are averaged over the ranks", "/ replicas", "/ comm.size"),
    edit("no_root", "the root is missing", "math.sqrt(squares.item())", "squares.item()"),
    edit(
        "largest",
        "That is the largest of the shards' norms",
        *(" / replicas", ""),
        *("mpi.IN_PLACE, squares", "mpi.IN_PLACE, squares, mpi.MAX"),
    ),
    edit("afterwards", "That is the norm after clipping", "return norm,", "return min(norm, limit),"),
    edit("lengthens", "A short gradient was made longer", "if norm > limit:", "if norm > 0:"),
    edit(
        "own_factor",
        "Each rank has clipped by the norm of its own shard",
        "if norm > limit:",
        """
        own = math.sqrt((clipped * clipped).sum())
        if own > limit:
        """,
        *(SCALE, "clipped *= limit / own"),
    ),
    edit("never_clips", "The gradient is as long as before", SCALE, "pass"),
    edit("to_one", "Scaled to the norm 1", SCALE, "clipped /= norm"),
    edit(
        "padding_kept",
        "There is something in the padding",
        SCALE,
        """
        clipped *= limit / norm
        clipped[real:] = gradient[real:]
        """,
    ),
    edit(
        "times_zero",
        "NaN times 0 is NaN",
        *("clipped = np.zeros_like(gradient)", "clipped = gradient * (np.arange(len(gradient)) < real)"),
        *("clipped[:real] = gradient[:real]", ""),
    ),
    edit("divides_by_zero", "A gradient of zeros has the norm 0", "if norm > limit:", "if limit / norm < 1:"),
    edit("two_calls", "One number of each rank is enough", CALL, f"{CALL}; comm.Allreduce(mpi.IN_PLACE, np.zeros(1))"),
    edit("pickles", "pickles its object", CALL, "squares = np.array(comm.allreduce(squares))"),
]
