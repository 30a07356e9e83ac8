"""Wrong answers to `stage_order`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("below_zero", "is below 0 here", "- 1 -", "- 2 -"),
    edit("few_micro_batches", "There are fewer micro-batches than stages", "stage, m, fits", "stage, fits"),
    edit("rest_forgotten", "when they are added up", "m - warmup,", "m,"),
    edit("rest_twice", "Every action is done just once", "(m - warmup,", "(warmup,"),
    edit("too_many_turns", "Does a loop go too far?", "m - warmup)", "m)"),
    edit("two_digits", "An action is written like", 'f"F{i}"', 'f"F{i:02}"'),
]
