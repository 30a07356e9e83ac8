"""Returns the column first."""

import math

EARNS = "First the rank, then the column"


def first_wrong_action(rows):
    p, columns, when = len(rows), len(rows[0]), {}
    drawn = [(column, r, rows[r][column]) for column in range(columns) for r in range(p) if rows[r][column]]
    for column, r, word in drawn:
        when.setdefault((r, word), column)

    def ready(r, word):
        if word[0] == "F":
            return when.get((r - 1, word), math.inf) if r else -math.inf
        behind = when.get((r + 1, word), math.inf) if r + 1 < p else -math.inf
        return max(behind, when.get((r, "F" + word[1:]), math.inf))

    wrong = [(column, r) for column, r, word in drawn if ready(r, word) >= column or when[r, word] < column]
    wrong += [(columns, r) for r in range(p) for _, _, w in drawn for kind in "FB" if (r, kind + w[1:]) not in when]
    return min(wrong) if wrong else None
