"""Wrong answers to `activations_kept`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("one_number", "the bytes of rank 0, of rank 1", "for number in in_hand]", "for number in in_hand][0]"),
    edit("rounded", "were they rounded", "number * batch / (p * m)", "round(number * batch / (p * m), -6)"),
]
