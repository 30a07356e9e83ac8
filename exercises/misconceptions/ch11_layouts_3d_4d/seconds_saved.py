"""Wrong answers to `seconds_saved` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("in_whole_units", "How long does a step take before the move", "units / sum(speeds)", "units // sum(speeds)"),
]
