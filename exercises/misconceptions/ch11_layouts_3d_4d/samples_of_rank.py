"""Wrong answers to `samples_of_rank` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("sequences_alone", "Return two lists", "return sequences, positions", "return sequences"),
    edit(
        "fractions",
        "Whole numbers: // in place of /",
        "positions = list(range(start, start + length // c))",
        "positions = [rank / t % c + i for i in range(length // c)]",
    ),
]
