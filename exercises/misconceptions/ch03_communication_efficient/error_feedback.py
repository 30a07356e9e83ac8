"""Wrong answers to `error_feedback`, each with words of the hint that it must earn. Others are slips of its check."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("A blank is not filled in yet"),
    edit(
        "one_array_for_all",
        "is it one array, written again",
        "c = np.zeros_like(p)",
        "c = sent[0] if sent else np.zeros_like(p)\nc[:] = 0",
    ),
    edit(
        "above_a_threshold",
        "are sent in a step",
        *("[-k:]", ""),
        *("c[largest] = p[largest]", "c[:] = np.where(np.abs(p) >= np.sort(np.abs(gradients[0]))[-k], p, 0)"),
    ),
    edit("adds_to_the_gradients", "The caller still needs it as it was", "p = g + e", "p = g\np += e"),
    edit("float32", "only the first ones are right", "e = p - c", "e = np.float64(np.float32(p - c))"),
    edit(
        "drops_what_is_small",
        "Follow one number over three steps",
        "c[largest] = p[largest]",
        "c[largest] = p[largest]\nc[np.abs(c) < 1e-4] = 0",
    ),
]
