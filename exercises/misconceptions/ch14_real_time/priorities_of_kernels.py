"""Wrong answers to `priorities_of_kernels` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped

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
]
