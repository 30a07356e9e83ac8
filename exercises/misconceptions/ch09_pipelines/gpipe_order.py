"""Wrong answers to `gpipe_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "even_rounds",
        "only the last may be shorter",
        """
        def gpipe_order(m, fits):
            order = []
            for group in np.array_split(np.arange(m), math.ceil(m / fits)):
                order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
            return order
        """,
    ),
    whole(
        "backward_rounds_last",
        "so nothing makes room for the next round",
        """
        def gpipe_order(m, fits):
            forward, backward = [], []
            for start in range(0, m, fits):
                group = range(start, min(start + fits, m))
                forward += [f"F{i}" for i in group]
                backward += [f"B{i}" for i in reversed(group)]
            return forward + backward
        """,
    ),
    edit("first_one_first", "In each round the first micro-batch goes backward first", "reversed(group)", "group"),
    whole(
        "naive",
        "that is the naive order",
        """
        def gpipe_order(m, fits):
            order = []
            for i in range(m):
                order += [f"F{i}", f"B{i}"]
            return order
        """,
    ),
    edit("past_the_end", "The last round goes past the end", "min(start + fits, m)", "start + fits"),
    edit("rest_forgotten", "is a round as well, a shorter one", ", m, fits", ", m - fits + 1, fits"),
    whole(
        "short_first",
        "The first round is the short one",
        """
        def gpipe_order(m, fits):
            order, first = [], 0
            while first < m:
                end = first + (m % fits or fits if first == 0 else fits)
                order += [f"F{i}" for i in range(first, end)] + [f"B{i}" for i in reversed(range(first, end))]
                first = end
            return order
        """,
    ),
    whole(
        "sliding",
        "GPipe finishes a round first",
        """
        def gpipe_order(m, fits):
            order = [f"F{i}" for i in range(min(fits, m))]
            for i in range(max(m - fits, 0)):
                order += [f"B{i}", f"F{i + fits}"]
            return order + [f"B{i}" for i in range(max(m - fits, 0), m)]
        """,
    ),
    edit(
        "so_many_rounds",
        "and not how many rounds there are",
        "order = []",
        """
        fits = math.ceil(m / fits)
        order = []
        """,
    ),
    edit(
        "without_a_limit",
        "All forward passes come first, whatever fits: then",
        "for group in np.array_split(np.arange(m), math.ceil(m / fits)):",
        """
        for start in range(0, m, m):
            group = range(start, min(m, m))
        """,
        of="even_rounds",
    ),
]
