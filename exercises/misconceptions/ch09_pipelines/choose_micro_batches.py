"""Wrong answers to `choose_micro_batches`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("a_float", "// in place of /", "return best and best[1]", "return best and float(best[1])"),
    edit("a_pair", "Return a whole number, or None.", "return best and best[1]", "return best"),
    edit("gpipe_memory", "As if all m micro-batches were kept", "min(m, p)", "m"),
    edit(
        "divided_by_the_message",
        "By what do you divide?",
        "alpha + b * beta <= forward",
        "forward / (alpha + b * beta) >= 1",
    ),
    whole(
        "least_of_none",
        "nothing of which the least could be taken",
        """
        def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
            cut = [(m, batch // m) for m in range(1, batch + 1) if batch % m == 0]
            hidden = [(m, b) for m, b in cut if alpha + b * beta <= fixed + b * slope]
            able = [(m, b) for m, b in hidden if weights + min(m, p) * b * kept <= memory]
            return min(((m + p - 1) * (fixed + b * slope), m) for m, b in able)[1]
        """,
    ),
]
