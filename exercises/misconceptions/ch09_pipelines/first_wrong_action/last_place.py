"""A dictionary of columns, in which a second place replaces the first."""

EARNS = "A dictionary keeps the last one"


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
