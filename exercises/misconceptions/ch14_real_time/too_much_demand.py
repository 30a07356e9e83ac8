"""Wrong answers to `too_much_demand` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("whether", "Return a whole number, or None", "return t", "return [t]"),
    edit("the_longest", "the longest such interval", "sorted(points)", "sorted(points, reverse=True)"),
    whole(
        "every_t",
        "Too many intervals are tried",
        """
        def too_much_demand(tasks):
            end = math.lcm(*(T for _, T, _ in tasks)) + max(D for _, _, D in tasks)
            for t in range(1, end):
                if sum(max(0, (t - D) // T + 1) * C for C, T, D in tasks) > t:
                    return t
            return None
        """,
    ),
]
