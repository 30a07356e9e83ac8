"""Wrong answers to `priorities_of_kernels` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("only_found", "Return a list with the name of each task once", "return None", "return below"),
    edit(
        "as_if_interrupted",
        "ceil(W / T) leaves out a task above",
        "(W // tasks[each][1] + 1)",
        "-(-W // tasks[each][1])",
    ),
    edit("turned", "The order is turned round", "[name, *below]", "[*below, name]"),
    edit("own_forgotten", "the task's own C among what blocks it", "max([C, *", "max([0, *"),
    edit(
        "changed_places",
        "Look at one task at the lowest place",
        "if in_time(name, others, below):",
        "if in_time(name, below, others):",
    ),
    whole(
        "all_orders",
        "There are too many orders to try them all",
        """
        def priorities_of_kernels(tasks):
            def in_time(place, order):
                C, _, D = tasks[order[place]]
                blocked = max(tasks[each][0] for each in order[place:])
                W, longer = -1, blocked
                while W < longer <= D:
                    W = longer
                    longer = blocked + sum((W // tasks[x][1] + 1) * tasks[x][0] for x in order[:place])
                return longer + C <= D

            def orders(names):
                if not names:
                    yield []
                for name in names:
                    yield from ([name, *rest] for rest in orders([each for each in names if each != name]))

            for order in orders(list(tasks)):
                if all(in_time(place, order) for place in reversed(range(len(order)))):
                    return order
            return None
        """,
    ),
]
