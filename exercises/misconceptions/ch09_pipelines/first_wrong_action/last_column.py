"""Something missing is put into the last column."""

EARNS = "one beyond the last"


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
