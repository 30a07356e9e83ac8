"""Wrong answers to `step_time`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "table_of_answers",
        "is right for the first example of the docstring",
        "return through",
        "return 20.0 if communication[0] == 1.4 else 15.8",
    ),
    edit("one_decimal", "only the first ones are right", "return through", "return round(through, 1)"),
]
