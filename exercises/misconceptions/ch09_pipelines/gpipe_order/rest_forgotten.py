"""Only full rounds are done."""

EARNS = "is a round as well, a shorter one"


def gpipe_order(m, fits):
    order = []
    for start in range(0, m - fits + 1, fits):
        group = range(start, min(start + fits, m))
        order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
    return order
