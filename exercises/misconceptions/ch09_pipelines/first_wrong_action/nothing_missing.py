"""Does not ask whether all is done."""

import math

EARNS = "what has been begun is to be finished"


def first_wrong_action(rows):
    p, when = len(rows), {}
    drawn = [(column, r, rows[r][column]) for column in range(len(rows[0])) for r in range(p) if rows[r][column]]
    for column, r, word in drawn:
        when.setdefault((r, word), column)

    def ready(r, word):
        if word[0] == "F":
            return when.get((r - 1, word), math.inf) if r else -math.inf
        behind = when.get((r + 1, word), math.inf) if r + 1 < p else -math.inf
        return max(behind, when.get((r, "F" + word[1:]), math.inf))

    wrong = [(column, r) for column, r, word in drawn if ready(r, word) >= column or when[r, word] < column]
    return min(wrong)[::-1] if wrong else None
