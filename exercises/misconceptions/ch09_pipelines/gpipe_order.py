"""Wrong answers to `gpipe_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("past_the_end", "The last round goes past the end", "min(start + fits, m)", "start + fits"),
    edit("rest_forgotten", "is a round as well, a shorter one", ", m, fits", ", m - fits + 1, fits"),
    edit("numbers", "Return a list of strings", 'f"F{i}"', "i", 'f"B{i}"', "-i"),
    edit(
        "no_large_rounds",
        "As many micro-batches as fit in each round",
        *("(0, m, fits)", "(0, m, min(fits, 100))", "start + fits", "start + min(fits, 100)"),
    ),
]
