"""Wrong answers to `keeps_running` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "every_pair_may_lose_two",
        "how many such groups have to get through",
        "at_most(1, 3) ** (workers / 2)",
        "at_most(2, 4) ** (workers / 2)",
    ),
]
