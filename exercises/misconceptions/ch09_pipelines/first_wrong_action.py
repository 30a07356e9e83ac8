"""Wrong answers to `first_wrong_action`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "last_column",
        "one beyond the last",
        """
        def first_wrong_action(rows):
            done, p, columns = set(), len(rows), len(rows[0])
            for c in range(columns):
                now = []
                for r in range(p):
                    a = rows[r][c]
                    if not a:
                        continue
                    needs = []
                    if a[0] == "F":
                        if r > 0:
                            needs.append((r - 1, a))
                    else:
                        needs.append((r, "F" + a[1:]))
                        if r < p - 1:
                            needs.append((r + 1, a))
                    if (r, a) in done or any(n not in done for n in needs):
                        return r, c
                    now.append((r, a))
                done.update(now)
            micros = {a[1:] for _, a in done}
            for r in range(p):
                if any((r, k + i) not in done for i in micros for k in "FB"):
                    return r, columns - 1
            return None
        """,
    ),
    edit("anywhere", "but is it there in time", ">= column", "== math.inf", of="again"),
    edit("column_first", "First the rank, then the column", "[::-1]", "", of="again"),
    edit(
        "gradients_from_before",
        "Gradients go the other way",
        "+ 1, word), math.inf) if r + 1 < p",
        "- 1, word), math.inf) if r",
        of="again",
    ),
    edit("idle_is_a_pass", "An idle entry is an empty string", ") if rows[r][column]]", ")]", of="again"),
    edit(
        "last_digit",
        "may have two digits",
        "[1:])",
        "[-1])",
        "{a[1:] for",
        "{a[-1] for",
        "columns - 1",
        "columns",
        of="last_column",
    ),
    whole(
        "last_place",
        "A dictionary keeps the last one",
        """
        def first_wrong_action(rows):
            p, n = len(rows), len(rows[0])
            col = {(r, a): c for r, row in enumerate(rows) for c, a in enumerate(row) if a}
            for c in range(n):
                for r in range(p):
                    a = rows[r][c]
                    if not a:
                        continue
                    needs = []
                    if a[0] == "F":
                        if r > 0:
                            needs.append((r - 1, a))
                    else:
                        needs.append((r, "F" + a[1:]))
                        if r < p - 1:
                            needs.append((r + 1, a))
                    if rows[r].index(a) < c or any(col.get(n, 99999) >= c for n in needs):
                        return r, c
            micros = {a[1:] for _, a in col}
            for r in range(p):
                if any((r, k + i) not in col for i in micros for k in "FB"):
                    return r, n
            return None
        """,
    ),
    edit(
        "last_rank_needs_nothing",
        "Its own forward pass.",
        'max(behind, when.get((r, "F" + word[1:]), math.inf))',
        "behind",
        of="again",
    ),
    edit(
        "nothing_missing",
        "what has been begun is to be finished",
        """
        p, columns, when = len(rows), len(rows[0]), {}
        drawn = [(column, r, rows[r][column]) for column in range(columns) for r in range(p) if rows[r][column]]
        """,
        """
        p, when = len(rows), {}
        drawn = [(column, r, rows[r][column]) for column in range(len(rows[0])) for r in range(p) if rows[r][column]]
        """,
        'wrong += [(columns, r) for r in range(p) for _, _, w in drawn for kind in "FB" if (r, kind + w[1:]) not in when]',
        "",
        of="again",
    ),
    whole(
        "own_rank_only",
        "something has to come from another rank",
        """
        def first_wrong_action(rows):
            p, done, micro = len(rows), set(), set()
            for column in range(len(rows[0])):
                for r in range(p):
                    word = rows[r][column]
                    if word and ((r, word) in done or (word[0] == "B" and (r, "F" + word[1:]) not in done)):
                        return r, column
                    if word:
                        done.add((r, word))
                        micro.add(word[1:])
            for r in range(p):
                if any((r, kind + i) not in done for i in micro for kind in "FB"):
                    return r, len(rows[0])
            return None
        """,
    ),
    edit(
        "rank_by_rank",
        "look through column after column",
        """
        wrong = [(column, r) for column, r, word in drawn if ready(r, word) >= column or when[r, word] < column]
        wrong += [(columns, r) for r in range(p) for _, _, w in drawn for kind in "FB" if (r, kind + w[1:]) not in when]
        return min(wrong)[::-1] if wrong else None
        """,
        """
        wrong = [(r, column) for column, r, word in drawn if ready(r, word) >= column or when[r, word] < column]
        late = [(columns, r) for r in range(p) for _, _, w in drawn for kind in "FB" if (r, kind + w[1:]) not in when]
        return min(wrong) if wrong else min(late)[::-1] if late else None
        """,
        of="again",
    ),
    edit("same_column", "strictly earlier", ">= column", "> column", of="again"),
    edit("twice_is_fine", "done a second time", "column or when[r, word] < column", "column", of="again"),
]
