"""Wrong answers to `roll_call` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit(
        "who_gets_through",
        "Return a list of",
        "[order[done] if done < len(order) else None for",
        "[done == len(order) for",
    ),
    whole(
        "one_pass",
        "Where does everybody stand in the end",
        """
        def roll_call(orders):
            place = [0] * len(orders)
            for rank, order in enumerate(orders):
                while place[rank] < len(order):
                    group = order[place[rank]]
                    if any(place[m] == len(orders[m]) or orders[m][place[m]] != group for m in group):
                        break
                    for m in group:
                        place[m] += 1
            return [order[done] if done < len(order) else None for order, done in zip(orders, place)]
        """,
    ),
    whole(
        "until_all_are_through",
        "when no collective happens any more",
        """
        def roll_call(orders):
            place = [0] * len(orders)
            while any(done < len(order) for order, done in zip(orders, place)):
                for rank, order in enumerate(orders):
                    group = order[place[rank]] if place[rank] < len(order) else ()
                    said = [orders[m][place[m]] if place[m] < len(orders[m]) else None for m in group]
                    if said == [group] * len(group):
                        for m in group:
                            place[m] += 1
            return [None] * len(orders)
        """,
    ),
    whole(
        "beyond_the_end",
        "has no next collective",
        """
        def roll_call(orders):
            place = [0] * len(orders)
            while True:
                said = [order[done] for order, done in zip(orders, place)]
                ready = [group for r, group in enumerate(said) if group[0] == r and all(said[m] == group for m in group)]
                if not ready:
                    return said
                for group in ready:
                    for m in group:
                        place[m] += 1
        """,
    ),
]
