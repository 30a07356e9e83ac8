"""Wrong answers to `bubble_share`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "half_in_1f1b",
        "Which of these three does the order change?",
        "return (p - 1) / (v * m + p - 1)",
        'return (p - 1) / (v * m + p - 1) / (2 if schedule == "1F1B" else 1)',
    ),
    edit("more_stages_more_bubble", "these are passes of stages a v-th", "(v * m + p - 1)", "(m / v + p - 1)"),
    edit("naively_over_work", "How many of the p ranks work at a time?", "(p - 1) / p", "(p - 1) / m"),
    edit("p_over_m", "p / m is a rule of thumb for very many", "(p - 1) / (v * m + p - 1)", "p / m / v"),
]
