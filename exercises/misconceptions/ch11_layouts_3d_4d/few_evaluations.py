"""Wrong answers to `few_evaluations`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "simulates_all",
        "Every layout was simulated",
        """
        def few_evaluations(layouts, bound, seconds):
            return min(layouts, key=seconds, default=None)
        """,
    ),
    whole(
        "trusts_the_bound",
        "That is the layout with the lowest bound",
        """
        def few_evaluations(layouts, bound, seconds):
            return min(layouts, key=bound, default=None)
        """,
    ),
    whole(
        "in_the_given_order",
        "In which order do layouts come",
        """
        def few_evaluations(layouts, bound, seconds):
            best, shortest = None, math.inf
            for layout in layouts:
                if bound(layout) < shortest:
                    took = seconds(layout)
                    if took < shortest:
                        best, shortest = layout, took
            return best
        """,
    ),
    edit(
        "stops_early",
        "A better layout was left out",
        "if least >= shortest:",
        "if least >= shortest * 0.8:",
    ),
    edit(
        "simulates_twice",
        "Some layout was simulated twice",
        "best, shortest = layout, took",
        "best, shortest = layout, seconds(layout)",
    ),
    whole(
        "bounds_again",
        "once for each layout is enough",
        """
        def few_evaluations(layouts, bound, seconds):
            best, shortest = None, math.inf
            for layout in sorted(layouts, key=bound):
                if bound(layout) >= shortest:
                    break
                took = seconds(layout)
                if took < shortest:
                    best, shortest = layout, took
            return best
        """,
    ),
    edit("its_seconds", "Return one of the layouts", "return best", "return shortest"),
]
