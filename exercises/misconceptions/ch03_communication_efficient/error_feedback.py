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
        "[-k:]",
        "",
        "c[largest] = p[largest]",
        "c[:] = np.where(np.abs(p) >= np.sort(np.abs(gradients[0]))[-k], p, 0)",
    ),
    edit("adds_to_the_gradients", "The caller still needs it as it was", "p = g + e", "p = g\np += e"),
]
