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
        "every_order",
        "There are too many orders to try them all",
        """
        def priorities_of_kernels(tasks):
            def in_time(order):
                for place, name in enumerate(order):
                    C, _, D = tasks[name]
                    blocked = max([C, *(tasks[each][0] for each in order[place + 1 :])])
                    W, longer = -1, blocked
                    while W < longer <= D:
                        W = longer
                        longer = blocked + sum((W // tasks[x][1] + 1) * tasks[x][0] for x in order[:place])
                    if longer + C > D:
                        return False
                return True

            for number in range(math.factorial(len(tasks))):
                left, order = list(tasks), []
                while left:
                    number, place = divmod(number, len(left))
                    order.append(left.pop(place))
                if in_time(order):
                    return order
            return None
        """,
    ),
]
