"""Wrong answers to `seven_seconds`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "an_argument",
        "Return letters from A to F and nothing else",
        """
        def seven_seconds():
            return "B, C and D, since 6.125 s < 7 s"
        """,
    ),
    edit("list_of_letters", "Return the letters in one string", '"BCD"', '["B", "C", "D"]'),
]
