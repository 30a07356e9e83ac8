"""Wrong answers to `first_wrong_action`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

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
    whole(
        "last_time_counts",
        "or comes a second time",
        """
        def first_wrong_action(rows):
            p, columns = len(rows), len(rows[0])
            when = {(r, word): column for r in range(p) for column, word in enumerate(rows[r]) if word}
            for column in range(columns):
                for r in range(p):
                    word = rows[r][column]
                    needed = [(r - 1, word)] if word[:1] == "F" else [(r, "F" + word[1:]), (r + 1, word)]
                    needed = [need for need in needed if word and 0 <= need[0] < p]
                    if any(when.get(need, columns) >= column for need in needed):
                        return r, column
            micro = {word[1:] for _, word in when}
            missing = (r for r in range(p) if any((r, kind + i) not in when for i in micro for kind in "FB"))
            return next(((r, columns) for r in missing), None)
        """,
    ),
]
