"""Wrong answers to `elastic_samples` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

LAST = "[(i // n, i % n) for i in range(first, first + each)]"

WRONG = [
    edit("numbers", "Return a list of pairs", LAST, "list(range(first, first + each))"),
    edit("fractions", "// in place of /", "(i // n, i % n)", "(i / n, i % n)"),
    edit(
        "future_changes",
        "Changes behind this step were counted",
        """
        if first >= step:
            break
        """,
        "",
    ),
    whole(
        "step_by_step",
        "A loop over the steps takes too long",
        """
        def elastic_samples(changes, each, n, step, rank):
            taken, ranks = 0, 0
            for now in range(step):
                ranks = dict(changes).get(now, ranks)
                taken += ranks
            first = (taken + rank) * each
            return [(i // n, i % n) for i in range(first, first + each)]
        """,
    ),
]
