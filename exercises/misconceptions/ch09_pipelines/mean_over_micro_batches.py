"""Wrong answers to `mean_over_micro_batches`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("That is the mean of the micro-batches' means: a target"),
    edit("nan", "0 times NaN is NaN", "if share > 0:", "if True:"),
    edit(
        "one_by_one",
        "smaller pieces, or one twice, take longer",
        "np.array_split(np.arange(len(y)), m)",
        "[[i] for i in range(len(y))]",
    ),
    edit(
        "padding_is_zero",
        "as if -1 were another target",
        "gradient(X[part], y[part])",
        "gradient(X[part], np.maximum(y[part], 0))",
    ),
    edit(
        "padding_is_blank",
        "as if -1 were another target",
        "gradient(X[part], y[part]) * share",
        "gradient(X[part] * (y[part] >= 0)[:, None], np.maximum(y[part], 0)) * len(part) / count",
    ),
    edit(
        "whole_batch", "More than a micro-batch at once", "np.array_split(np.arange(len(y)), m)", "[np.arange(len(y))]"
    ),
    edit("returns_nothing", "ends without `return`", "return total", "pass"),
    edit(
        "float32",
        "only the first ones are right",
        "np.sum(y[part] >= 0) / count",
        "np.float32(np.sum(y[part] >= 0) / count)",
    ),
]
