"""Goes backward in the order of the micro-batches."""

EARNS = "In each round the first micro-batch goes backward first"


def gpipe_order(m, fits):
    order = []
    for start in range(0, m, fits):
        group = range(start, min(start + fits, m))
        order += [f"F{i}" for i in group] + [f"B{i}" for i in group]
    return order
