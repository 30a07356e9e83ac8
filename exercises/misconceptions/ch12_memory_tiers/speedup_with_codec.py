"""Wrong answers to `speedup_with_codec` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "both_times",
        "Return one number",
        "return max(compute, link) / max(accelerator",
        "return max(compute, link), max(accelerator",
    ),
    edit(
        "ratio_of_both",
        "In each: what does the accelerator do",
        "nbytes / pack + nbytes",
        "nbytes / ratio / pack + nbytes",
    ),
]
