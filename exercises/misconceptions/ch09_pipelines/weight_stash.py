"""Wrong answers to `weight_stash`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("in_place", "an array that is updated in place is the same array", "w = w -", "w -="),
    edit("only_weights", "Return two things", "), most", ")"),
    edit("number_first", "First an array as long as w", "w.copy(), most", "most, w.copy()"),
    edit("kept_by_the_action", "that was never kept", "stash[i]", "stash[action]"),
    edit("float32", "only the first ones are right", "return w.copy()", "return np.float64(np.float32(w))"),
]
