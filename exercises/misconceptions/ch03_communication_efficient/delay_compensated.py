"""Wrong answers to `delay_compensated`, each with words of the hint that it must earn. Others are slips of its check."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("That is damping"),
    edit(
        "one_array_for_all",
        "The caller still needs its w",
        *("[w.copy()]", "[w]"),
        *("history.append(now - rate * estimate)", "now -= rate * estimate\nhistory.append(now)"),
        of="again",
    ),
    edit(
        "one_array_in_place",
        "Or is all of history one array",
        *("history.append(now - rate * estimate)", "now -= rate * estimate\nhistory.append(now)"),
        of="again",
    ),
    edit(
        "one_too_new",
        "Write down Taylor's series",
        "old, now = history[read]",
        "old, now = history[read - 1]",
        of="again",
    ),
    edit("returns_w_itself", "Return memory of its own", "[w.copy()]", "[w]"),
    edit("whole_history", "It should return one NumPy array", "return history[-1]", "return history"),
    edit(
        "float32",
        "only the first ones are right",
        "(history[t] - history[read])",
        "np.float32(history[t] - history[read])",
    ),
    edit("weights_to_come", "history has the weights after", "(history[read])", "(history[read + 1])"),
]
