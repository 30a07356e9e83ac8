"""Wrong answers to `mean_over_micro_batches`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("That is the mean of the micro-batches' means: a target"),
    whole(
        "zero_does_not_count",
        "at least 0, and not above",
        """
        def mean_over_micro_batches(gradient, X, y, m):
            total, count = 0.0, 0
            for part in np.array_split(np.arange(len(y)), m):
                n = (y[part] > 0).sum()
                if n:
                    total += gradient(X[part], y[part]) * n
                    count += n
            return total / count
        """,
    ),
    edit("by_all_samples", "divided by all samples", "np.sum(y >= 0", "len(y"),
    edit("by_samples", "Weighed by samples", "* share", "* len(part) / len(y)"),
    edit(
        "last_ones_number",
        "divided by the targets of the last",
        "total, count = 0.0, np.sum(y >= 0)",
        "total = 0.0",
        ") / count",
        ")",
        "return total",
        "return total / share",
    ),
    edit(
        "nan",
        "0 times NaN is NaN",
        """
        if share > 0:
            total += gradient(X[part], y[part]) * share
        """,
        "total += gradient(X[part], y[part]) * share",
    ),
    edit(
        "rest_forgotten",
        "in no micro-batch",
        """
        for part in np.array_split(np.arange(len(y)), m):
            n = (y[part] > 0).sum()
        """,
        """
        for part in [np.arange(len(y))[k * (len(y) // m) : (k + 1) * (len(y) // m)] for k in range(m)]:
            n = (y[part] >= 0).sum()
        """,
        of="zero_does_not_count",
    ),
    edit(
        "sum",
        "That is the sum over all targets that count",
        "total, count = 0.0, np.sum(y >= 0)",
        "total = 0.0",
        ") / count",
        ")",
    ),
    edit("sum_of_means", "The micro-batches' means are added up", ") * share", ")"),
    edit("weights_and_mean", "m times too small", "return total", "return total / m"),
    whole(
        "whole_batch",
        "More than a micro-batch at once",
        """
        def mean_over_micro_batches(gradient, X, y, m):
            return gradient(X, y)
        """,
    ),
]
