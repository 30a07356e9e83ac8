"""The last round is as long as the others."""

EARNS = "The last round goes past the end"


def gpipe_order(m, fits):
    order = []
    for start in range(0, m, fits):
        group = range(start, start + fits)
        order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
    return order
