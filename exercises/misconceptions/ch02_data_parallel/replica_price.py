"""Wrong answers to `replica_price`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "seconds_only", "makes a tuple of them", "18 * parameters * ranks, sent, sent / bandwidth", "sent / bandwidth"
    ),
    edit(
        "whole_blocks",
        "which part of that does a rank of a ring send",
        "2 * (ranks - 1) / ranks * 2 * parameters",
        "2 * (ranks - 1) * (2 * parameters // ranks)",
    ),
]
