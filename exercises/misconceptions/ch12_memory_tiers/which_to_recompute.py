"""Wrong answers to `which_to_recompute` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("takes_from_needed", "Give it a list of its own for each choice", "list(needed)", "needed"),
    edit(
        "limits_seconds", "The outputs that are kept are there together", "operators[name][1]", "operators[name][1] / 9"
    ),
    edit("asks_for_all", "A list was asked for, not a name", "asked += operators[name][0]", "asked += operators[name]"),
    edit("bits", "Return a list of names", "fewest, best = seconds, kept", "fewest, best = seconds, bits"),
    edit("with_x", "there is no operator", "fewest, best = seconds, kept", "fewest, best = seconds, ['x', *kept]"),
    edit("twice", "Each output is kept once", "fewest, best = seconds, kept", "fewest, best = seconds, kept + kept"),
    edit(
        "again_and_again",
        "Ask for them, and for theirs",
        "name in operators and ",
        "name in needed and ",
    ),
    whole(
        "by_need",
        "What is needed first was kept",
        """
        def which_to_recompute(operators, needed, budget):
            kept = []
            for name in needed:
                if operators[name][1] <= budget:
                    kept.append(name)
                    budget -= operators[name][1]
            return kept
        """,
    ),
]
