"""Wrong answers to `peak_bytes` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("bits", "what is kept of all the others", "5 * a * s * s * b", "40 * a * s * s * b"),
    edit(
        "all_three",
        "Return one number, in bytes",
        "return L * (rest + core)",
        "return [L * (rest + core), L * rest + core]",
    ),
]
