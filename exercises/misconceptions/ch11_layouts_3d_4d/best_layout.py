"""Wrong answers to `best_layout`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

KEPT = "best, best_cost = (d, t, p), cost"
SKIPPED = "d * t * p != N or batch % d or held(d, t, p) > memory"

WRONG = [
    shipped("The cost of something was asked that is no layout"),
    edit("never_kept", "what has to change when a better one was found", KEPT, "best = d, t, p"),
    edit("no_memory", "It needs more memory than there is", " or held(d, t, p) > memory", ""),
    edit(
        "never_full", "What fills the memory to the last byte fits", "held(d, t, p) > memory", "held(d, t, p) >= memory"
    ),
    edit("powers_of_two", "Only some tensor degrees are tried", "for t in range(1, N + 1):", "for t in (1, 2, 4, 8):"),
    edit("remainders", "The cost of something was asked that is no layout", "d * t * p != N or ", "d < 1 or "),
    edit("any_batch", "The cost of something was asked that is no layout", "batch % d or ", ""),
    edit(
        "first_that_fits",
        "Which ones does the search try, and what does it keep",
        KEPT,
        "return d, t, p",
    ),
    edit("its_cost", "Return (d, t, p), three whole numbers", "return best", "return best_cost"),
]
