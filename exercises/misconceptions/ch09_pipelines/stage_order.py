"""Wrong answers to `stage_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("all_forward", "All forward passes come first", "min(p - 1 - stage, m)", "m"),
    edit(
        "backward_first", "In its turns a stage goes forward first", '"F{warmup + i}", f"B{i', '"B{i}", f"F{warmup + i'
    ),
    edit("below_zero", "is below 0 here", "- 1 -", "- 2 -"),
    edit("few_micro_batches", "There are fewer micro-batches than stages", "min(p - 1 - stage, m)", "p - 1 - stage"),
    edit("first_stage_everywhere", "as often as the first one does", "1 - stage", "1"),
    whole(
        "gpipe",
        "That is GPipe: it keeps",
        """
        def stage_order(p, m, stage):
            return [f"F{i}" for i in range(m)] + [f"B{i}" for i in reversed(range(m))]
        """,
    ),
    edit("last_first", "come in reverse order", "range(m - warmup, m", "reversed(range(m - warmup, m)"),
    whole(
        "newest_first",
        "Of which micro-batch is the first gradient",
        """
        def stage_order(p, m, stage):
            warmup = min(p - 1 - stage, m)
            order = [f"F{i}" for i in range(warmup)]
            for i in range(warmup, m):
                order += [f"F{i}", f"B{i}"]
            return order + [f"B{i}" for i in range(warmup)]
        """,
    ),
    edit("no_warm_up", "Every stage takes turns from the beginning", "min(p - 1 - stage, m)", "0"),
    edit("one_fewer", "One forward pass too few", "p - 1 - stage", "max(p - 2 - stage, 0)"),
    edit("one_more", "One forward pass too many", "1 - stage", "stage"),
    edit("p_everywhere", "Every stage goes forward p times", "p - 1 - stage", "p"),
    edit("rest_forgotten", "when they are added up", "m - warmup,", "m,"),
    edit("rest_twice", "Every action is done just once", "(m - warmup,", "(warmup,"),
    edit("too_many_turns", "Does a loop go too far?", "m - warmup)", "m)"),
    edit("twice_as_many", "Twice as many forward passes", "p - 1 - stage", "2 * (p - 1 - stage)"),
    edit("wrong_way_round", "which stage waits longest", "(p - 1 - stage", "(stage"),
]
