"""Wrong answers to `first_wrong_action`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("idle_is_a_pass", "An idle entry is an empty string", ") if rows[r][column]]", ")]", of="again"),
    edit("only_the_rank", "Return (rank, column)", "return r, column", "return r"),
    edit(
        "in_the_text",
        "There are F1 and F10",
        "{need for need in needed if 0 <= need[0] < p} - done",
        'any(need[1] not in " ".join(rows[need[0]][:column]) for need in needed if 0 <= need[0] < p)',
    ),
    edit(
        "last_digit",
        "may have several digits",
        *('"F" + word[1:])', '"F" + word[-1])', "micro.update(word[1:]", "micro.update(word[-1]"),
    ),
    edit("two_digits", "may have several digits", '"F" + word[1:])', '"F" + word[1:3])'),
    edit(
        "number_of_idle",
        "An idle entry is an empty string",
        "if rows[r][column]]",
        "if int(rows[r][column][1:]) >= 0]",
    ),
]
