"""Wrong answers to `my_share`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    whole(
        "rounds_up",
        "Each share is rounded up",
        """
        def my_share(order, size, step, rank, ranks):
            batch = order[step * size : (step + 1) * size]
            each = -(-len(batch) // ranks)
            return batch[rank * each : (rank + 1) * each]
        """,
    ),
    edit(
        "begins_too_early",
        "How many samples do all lower ranks have together?",
        "step * size +",
        "(step + 1) *",
        "sum(sizes[:rank])",
        "rank * sizes[rank]",
    ),
    whole(
        "by_rank_in_the_epoch",
        "Share out the batch of a step",
        """
        def my_share(order, size, step, rank, ranks):
            mine = order[rank::ranks]
            each = -(-size // ranks)
            return mine[step * each : (step + 1) * each]
        """,
    ),
    whole(
        "drops_the_remainder",
        "it would be lost in this epoch",
        """
        def my_share(order, size, step, rank, ranks):
            batch = order[step * size : (step + 1) * size]
            sizes = [len(batch) // ranks + 0 for r in range(ranks)]
            first = sum(sizes[:rank])
            return batch[first : first + sizes[rank]]
        """,
    ),
    whole(
        "fills_up_the_last_batch",
        "of other steps, which then come twice in the epoch",
        """
        def my_share(order, size, step, rank, ranks):
            batch = [order[i % len(order)] for i in range(step * size, (step + 1) * size)]
            return batch[rank::ranks]
        """,
    ),
    edit(
        "pads_by_repeating",
        "Are some repeated so that all shares are equally long?",
        "return batch[rank * each : (rank + 1) * each]",
        """
        padded = batch * ranks
        return padded[rank * each : (rank + 1) * each]
        """,
        of="rounds_up",
    ),
    whole(
        "remainder_to_the_last",
        "All wait for the rank that has most",
        """
        def my_share(order, size, step, rank, ranks):
            batch = order[step * size : (step + 1) * size]
            each = len(batch) // ranks
            return batch[rank * each :] if rank == ranks - 1 else batch[rank * each : (rank + 1) * each]
        """,
    ),
    edit("steps_of_one", "where in the order does that of step", "* size : step * size", ": step"),
    edit("whole_batch", "Every rank has the whole batch", ":][:size][rank::ranks", ": (step + 1) * size", of="again"),
]
