"""Wrong answers to `bytes_in_tier` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("all_tiers", "Return one number, in bytes", "return here", "return {name: here}"),
    edit(
        "activations_everywhere",
        "The activations take room of the first tier alone",
        "left, taken = left - here, 0",
        "left -= here",
    ),
    edit("nothing_missing", "Nothing is missing in that", "return left", "return 0"),
]
