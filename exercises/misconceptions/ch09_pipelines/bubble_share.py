"""Wrong answers to `bubble_share`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "all_ranks_over_one",
        "p cancels",
        """
        def bubble_share(schedule, p, m, v):
            if schedule == "naive":
                return p - 1
            return p * (p - 1) / (v * m + p - 1)
        """,
    ),
    edit(
        "backward_too_early",
        "a backward pass begins too early",
        "return (p - 1) / (v * m + p - 1)",
        """
        makespan = 2 * m + p - 1 if v == 1 else 2 * m + 2 * (p - 1) / v
        return 1 - 2 * m / makespan
        """,
    ),
    whole(
        "busy",
        "share of time in which it works",
        """
        def bubble_share(schedule, p, m, v):
            if schedule == "naive":
                return 1 / p
            return v * m / (v * m + p - 1)
        """,
    ),
    edit("chunks_change_nothing", "That is 1F1B's. With v stages", "(v * m", "(m"),
    edit(
        "half_in_1f1b",
        "Which of these three does the order change?",
        "return (p - 1) / (v * m + p - 1)",
        """
        share = (p - 1) / (v * m + p - 1)
        return share / 2 if schedule == "1F1B" else share
        """,
    ),
    edit(
        "more_stages_more_bubble",
        "these are passes of stages a v-th",
        "(p - 1) / (v * m + p - 1",
        "v * (p - 1) / (m + v * (p - 1)",
    ),
    edit("naive_busy", "That is the share in which a rank works", "return (p - 1) / p", "return 1 / p"),
    whole(
        "naive_is_gpipe",
        "does not start before the one before has come back",
        """
        def bubble_share(schedule, p, m, v):
            return (p - 1) / (v * m + p - 1)
        """,
    ),
    edit("over_m", "its share of the whole time, in which", "(v * m + p - 1)", "v / m"),
    edit("p_idle", "The first rank waits for nobody", "(p - 1) / (v * m + p - 1", "p / (m * v + p"),
    edit("p_of_p_less_one", "The idle time is not", "(p - 1) / (v * m", "p / (m * v"),
    edit("p_over_m", "p / m is a rule of thumb for very many", "(p - 1) / (v * m + p - 1)", "p / m / v"),
    whole(
        "percent",
        "rounded or in percent",
        """
        def bubble_share(schedule, p, m, v):
            share = (p - 1) / p if schedule == "naive" else (p - 1) / (v * m + p - 1)
            return round(100 * share, 1)
        """,
    ),
    edit(
        "pipeline_of_p_v_ranks",
        "as a pipeline of p v ranks",
        "return (p - 1) / (v * m + p - 1)",
        """
        q = p * v
        return (q - 1) / (v * m + q - 1)
        """,
    ),
    edit("row_too_long", "the whole time is too long", "v * m + p - 1", "m * v + p"),
    whole(
        "seconds",
        "Those are the seconds",
        """
        def bubble_share(schedule, p, m, v):
            return 3 * (p - 1) / v
        """,
    ),
    edit("share_divided_by_v", "So the whole time is shorter, too", "v * m + p - 1)", "m + p - 1) / v"),
]
