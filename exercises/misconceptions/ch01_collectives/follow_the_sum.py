"""Wrong answers to `follow_the_sum`, each with words of the hint that it must earn; the grader knows the others."""

from exercises.grading.wrong import edit

LEARN = "knows[receiver] |= knows[sender]"

WRONG = [
    edit(
        "one_number", "Return two values", "return first, number", "return number", "return first, None", "return None"
    ),
    edit("sender_forgets", "and goes on knowing it", LEARN, f"{LEARN}\nknows[sender] = {{sender}}"),
]
