"""A backward pass needs only that of the rank behind."""

import math

EARNS = "Its own forward pass."


def first_wrong_action(rows):
    p, columns, when = len(rows), len(rows[0]), {}
    drawn = [(column, r, rows[r][column]) for column in range(columns) for r in range(p) if rows[r][column]]
    for column, r, word in drawn:
        when.setdefault((r, word), column)

    def ready(r, word):
        if word[0] == "F":
            return when.get((r - 1, word), math.inf) if r else -math.inf
        behind = when.get((r + 1, word), math.inf) if r + 1 < p else -math.inf
        return behind

    wrong = [(column, r) for column, r, word in drawn if ready(r, word) >= column or when[r, word] < column]
    wrong += [(columns, r) for r in range(p) for _, _, w in drawn for kind in "FB" if (r, kind + w[1:]) not in when]
    return min(wrong)[::-1] if wrong else None
