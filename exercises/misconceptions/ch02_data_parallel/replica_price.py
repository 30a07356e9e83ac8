"""Wrong answers to `replica_price`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "seconds_only", "makes a tuple of them", "16 * parameters * ranks, sent, sent / bandwidth", "sent / bandwidth"
    ),
]
