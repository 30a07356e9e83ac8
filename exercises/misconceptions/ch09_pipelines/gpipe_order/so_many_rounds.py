"""fits is taken for the number of rounds."""

import math

EARNS = "and not how many rounds there are"


def gpipe_order(m, fits):
    fits = math.ceil(m / fits)
    order = []
    for start in range(0, m, fits):
        group = range(start, min(start + fits, m))
        order += [f"F{i}" for i in group] + [f"B{i}" for i in reversed(group)]
    return order
