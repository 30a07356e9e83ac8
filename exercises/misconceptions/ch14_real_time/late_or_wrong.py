"""Wrong answers to `late_or_wrong` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("all_parts", "Return one number", "else min(1, n * p)", "else [min(1, n * p)]"),
    edit("in_percent", "Which events make it fail?", "return c * p +", "return 100 * c * p + 100 *"),
]
