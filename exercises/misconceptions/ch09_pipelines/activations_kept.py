"""Wrong answers to `activations_kept`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "all_layers",
        "A rank does not have all layers",
        """
        def activations_kept(schedule, p, m, batch):
            return [(m if schedule == "GPipe" else min(p - r, m)) * batch / m for r in range(p)]
        """,
    ),
    whole(
        "gpipe_keeps_p",
        "how many micro-batches are there then",
        """
        def activations_kept(schedule, p, m, batch):
            in_hand = [min(p, m) if schedule == "GPipe" else min(p - r, m) for r in range(p)]
            return [number * batch / p / m for number in in_hand]
        """,
    ),
    whole(
        "one_more",
        "never keeps more than one micro-batch",
        """
        def activations_kept(schedule, p, m, batch):
            if schedule == "GPipe":
                return [batch / p] * p
            return [min(p - r + 1, m) * batch / p / m for r in range(p)]
        """,
    ),
    edit("gpipe_keeps_one", "nothing is freed", "min(p, m)", "1", of="gpipe_keeps_p"),
    whole(
        "gpipe_of_the_cluster",
        "That is the memory of all ranks together",
        """
        def activations_kept(schedule, p, m, batch):
            A = batch / p / m
            return [m * p * A if schedule == "GPipe" else min(p - r, m) * A for r in range(p)]
        """,
    ),
    edit(
        "micro_batches_as_large_as_the_batch",
        "each counted as large as the batch",
        "/ m for",
        "/ p for",
        of="all_layers",
    ),
    edit("more_than_there_are", "than there are cannot be kept", "min(p - r + 1, m", "(p - r", of="one_more"),
    whole(
        "numbers",
        "That is the number of micro-batches",
        """
        def activations_kept(schedule, p, m, batch):
            return [m if schedule == "GPipe" else min(p - r, m) for r in range(p)]
        """,
    ),
    whole(
        "one_f_one_b_keeps_all",
        "1F1B does not keep all",
        """
        def activations_kept(schedule, p, m, batch):
            return [batch / p] * p
        """,
    ),
    whole(
        "one_number",
        "the bytes of rank 0, of rank 1",
        """
        def activations_kept(schedule, p, m, batch):
            return batch / p if schedule == "GPipe" else min(p, m) * batch / p / m
        """,
    ),
    edit(
        "p_everywhere",
        "and how much those between",
        "p - r + 1, m) * batch / p / m for r in range(p)]",
        "p, m) * batch / p / m] * p",
        of="one_more",
    ),
    edit("warm_up_only", "one more is there when the first backward pass begins", "r + 1", "1 - r", of="one_more"),
    whole(
        "whole_cluster",
        "That is the whole cluster",
        """
        def activations_kept(schedule, p, m, batch):
            A = batch / p / m
            return [A * m * p if schedule == "GPipe" else A * p * (p + 1) / 2] * p
        """,
    ),
    edit("wrong_way_round", "which rank waits longest", "p - r", "r", of="one_more"),
]
