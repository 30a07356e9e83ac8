"""Wrong answers to `best_k` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("both", "Return one number", "return min(divisors", "return divisors, min(divisors"),
    edit(
        "at_most_the_root",
        "Only divisors up to sqrt(n) were tried",
        "range(1, n) if n % k == 0), n]",
        "range(1, math.isqrt(n) + 1) if n % k == 0)]",
    ),
]
