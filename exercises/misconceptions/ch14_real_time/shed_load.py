"""Wrong answers to `shed_load` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("all_choices", "Return a list with the number of a level", "return levels[::-1]", "return levels[1:]"),
    edit("overload", "add up to more than one processor", "if more <= H and", "if"),
    edit("turned", "Return a list with the number of a level", "return levels[::-1]", "return levels"),
    whole(
        "every_choice",
        "There are 4^80 choices",
        """
        def shed_load(tasks):
            best, found = -1, None
            ways = math.prod(len(levels) for _, levels in tasks)
            for number in range(ways):
                chosen = []
                for _, levels in tasks:
                    number, level = divmod(number, len(levels))
                    chosen.append(level)
                picked = [(T, *levels[level]) for level, (T, levels) in zip(chosen, tasks)]
                value = sum(worth for _, _, worth in picked)
                if value > best and sum(C * (1000 // T) for T, C, _ in picked) <= 1000:
                    best, found = value, chosen
            return found
        """,
    ),
]
