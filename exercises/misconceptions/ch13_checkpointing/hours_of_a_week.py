"""Wrong answers to `hours_of_a_week` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("all_four", "Return one number, in hours", "[part]", ""),
    edit(
        "whole_failures", "How long is each of the four parts", "failures = week / M", "failures = math.ceil(week / M)"
    ),
]
