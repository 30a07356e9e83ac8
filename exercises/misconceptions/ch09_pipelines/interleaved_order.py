"""Wrong answers to `interleaved_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("neighbouring_stages", "and not neighbouring ones", "rank, p * v, p", "rank * v, rank * v + v"),
    edit(
        "no_limit",
        "The warm-up would be longer than there are",
        "min((v - 1) * p + 2 * (p - 1 - rank), m * v)",
        "(v - 1) * p + 2 * (p - 1 - rank)",
    ),
    edit("without_stages", "An action is written like", 'f"{s}F{i}"', 'f"F{i}"'),
]
