"""Wrong answers to `heads_of_rank`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "raises",
        "is answered by None: return it",
        "return None",
        'raise ValueError("impossible")',
    ),
    edit("no_copies_to_divide_by", "what do you divide", "rank * groups // ranks", "rank // (ranks // groups)"),
    edit("no_copies", "Return two lists and a number", ", max(ranks // groups, 1)", ""),
]
