"""Wrong answers to `tp_or_pp`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("numbers_not_bytes", "How many bytes has each?", "n = 2 * batch", "n = batch"),
    edit(
        "no_name", 'The third is "TP" or "PP"', '"TP" if tp_seconds < pp_seconds else "PP"', "tp_seconds < pp_seconds"
    ),
    edit("float32", "only the first ones are right", "return tp,", "return np.float32(tp),"),
]
