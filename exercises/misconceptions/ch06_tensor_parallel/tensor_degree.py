"""Wrong answers to `tensor_degree`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("least_of_none", "nothing of which the least could be taken", " if times else None", ""),
    edit("a_float", "// in place of /", "min(times)[1] if", "float(min(times)[1]) if"),
    edit("a_pair", "Return a whole number, or None.", "min(times)[1] if", "min(times) if"),
]
