"""Wrong answers to `ring_time`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("blocks_of_one_less", "as if n were cut into P - 1 blocks", "/ P *", "/ max(P - 1, 1) *"),
]
