"""Wrong answers to `interleaved_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "breadth_first",
        "that is breadth first",
        """
        def interleaved_order(p, m, v, rank):
            stages = range(rank, p * v, p)
            forward = [f"{s}F{i}" for s in stages for i in range(m)]
            backward = [f"{s}B{i}" for s in reversed(stages) for i in range(m)]
            warmup = min((v - 1) * p + 2 * (p - 1 - rank), m * v)
            order = forward[:warmup]
            for f, b in zip(forward[warmup:], backward):
                order += [f, b]
            return order + backward[m * v - warmup :]
        """,
    ),
    edit(
        "all_forward_first",
        "After the warm-up the passes take turns",
        "min((v - 1) * p + 2 * (p - 1 - rank), m * v)",
        "m * v",
    ),
    edit("backward_upwards", "Where does a gradient come from first", "reversed(stages)", "stages"),
    edit("does_not_go_round", "lacks the passes for which micro-batch 0 goes round", "((v - 1) * p + 2", "(2"),
    whole(
        "groups_of_v",
        "The groups have v micro-batches",
        """
        def interleaved_order(p, m, v, rank):
            stages = range(rank, p * v, p)
            forward = [f"{s}F{i}" for g in range(0, m, v) for s in stages for i in range(g, min(g + v, m))]
            backward = [f"{s}B{i}" for g in range(0, m, v) for s in reversed(stages) for i in range(g, min(g + v, m))]
            warmup = min((v - 1) * p + 2 * (p - 1 - rank), m * v)
            order = forward[:warmup]
            for f, b in zip(forward[warmup:], backward):
                order += [f, b]
            return order + backward[m * v - warmup :]
        """,
    ),
    edit(
        "last_one_first",
        "the first to come back",
        ") for i in range(g, g + p)]",
        ") for i in reversed(range(g, g + p))]",
    ),
    edit("m_go_round", "and not all m", "* p +", "* m +"),
    edit("neighbouring_stages", "and not neighbouring ones", "rank, p * v, p", "rank * v, rank * v + v"),
    edit(
        "no_limit",
        "The warm-up would be longer than there are",
        "min((v - 1) * p + 2 * (p - 1 - rank), m * v",
        "(v - 1) * p + 2 * (p - 1 - rank",
    ),
    edit(
        "one_after_the_other",
        "goes through all stages of the rank before the next",
        """
        forward = [f"{s}F{i}" for s in stages for i in range(m)]
        backward = [f"{s}B{i}" for s in reversed(stages) for i in range(m)]
        """,
        """
        forward = [f"{s}F{i}" for i in range(m) for s in stages]
        backward = [f"{s}B{i}" for i in range(m) for s in reversed(stages)]
        """,
        of="breadth_first",
    ),
    edit("one_ahead", "asked for are two", "2 * (", "("),
    edit("one_too_long", "taking turns begins with a forward pass of its own", "rank),", "rank) + 1,"),
    whole(
        "one_too_short",
        "one forward pass too early",
        """
        def interleaved_order(p, m, v, rank):
            forward = [f"{rank + c * p}F{i}" for g in range(0, m, p) for c in range(v) for i in range(g, g + p)]
            backward = [f"{rank + c * p}B{i}" for g in range(0, m, p) for c in reversed(range(v)) for i in range(g, g + p)]
            warmup = min((v - 1) * p + 2 * (p - 1 - rank) - 1, m * v)
            order = forward[:warmup]
            for f, b in zip(forward[warmup:], backward):
                order += [f, b]
            return order + backward[m * v - warmup :]
        """,
    ),
    edit("ranks_from_one", "Ranks are numbered from 0: the last one", "1 - rank", "rank"),
    edit("v_rounds", "are p too many", "(v - 1)", "v"),
    edit("warmup_of_1f1b", "the warm-up of 1F1B with one stage", "(v - 1) * p + 2 * (p - 1 - rank)", "p - 1 - rank"),
    edit("wrong_way_round", "the first rank has to begin the most", "(p - 1 - rank)", "rank"),
]
