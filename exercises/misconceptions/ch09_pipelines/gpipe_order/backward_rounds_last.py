"""All rounds forward, then all rounds backward."""

EARNS = "so nothing makes room for the next round"


def gpipe_order(m, fits):
    forward, backward = [], []
    for start in range(0, m, fits):
        group = range(start, min(start + fits, m))
        forward += [f"F{i}" for i in group]
        backward += [f"B{i}" for i in reversed(group)]
    return forward + backward
