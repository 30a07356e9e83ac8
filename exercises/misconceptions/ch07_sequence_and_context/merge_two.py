"""Wrong answers to `merge_two`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

BOTH = "o = (w1[:, None] * o1 + w2[:, None] * o2) / np.where(total > 0, total, 1.0)[:, None]"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("added", "the sum of two averages", BOTH, "o = o1 + o2"),
    edit("mean", "as if both sets of keys had the same weight", BOTH, "o = (o1 + o2) / 2"),
    edit(
        "weighted_by_logarithms",
        "Weighted by the logarithms",
        BOTH,
        "o = (L1[:, None] * o1 + L2[:, None] * o2) / (L1 + L2)[:, None]",
    ),
    edit("not_divided", "they do not add up to 1", ") / np.where(total > 0, total, 1.0)[:, None]", ")"),
    edit("exchanged", "Each output has the weight of the other one", "w1, w2 =", "w2, w1 ="),
    edit("no_maximum", "which number makes every exp at most 1?", "m = np.maximum(L1, L2)", "m = np.zeros_like(L1)"),
    edit("nothing_seen", "Which query sees no key", "m = np.where(np.isneginf(m), 0.0, m)", ""),
    edit(
        "L_without_the_maximum",
        "what is the logarithm of both sums together?",
        "L = m + np.log(total)",
        "L = np.log(total)",
    ),
    edit("one_array", "Return two arrays", "return o, L", "return o"),
    edit("a_column", "One row of o for each query", "return o, L", "return o, L[:, None]"),
]
