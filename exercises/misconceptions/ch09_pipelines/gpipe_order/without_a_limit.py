"""GPipe without rounds."""

EARNS = "All forward passes come first, whatever fits: then"


def gpipe_order(m, fits):
    order = []
    for start in range(0, m, m):
        group = range(start, min(m, m))
        order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
    return order
