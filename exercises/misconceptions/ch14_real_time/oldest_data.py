"""Wrong answers to `oldest_data` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("both", "Return one number", "return oldest", "return oldest, T"),
    edit("from_the_front", "Take one job of the last task", "in reversed(chain[:-1])", "in chain[:-1]"),
    edit("in_the_last_period", "That is one output", "math.lcm(*(T for T, _, _ in chain))", "T"),
]
