"""A micro-batch comes as soon as there is room for it."""

EARNS = "GPipe finishes a round first"


def gpipe_order(m, fits):
    order = [f"F{i}" for i in range(min(fits, m))]
    for i in range(max(m - fits, 0)):
        order += [f"B{i}", f"F{i + fits}"]
    return order + [f"B{i}" for i in range(max(m - fits, 0), m)]
