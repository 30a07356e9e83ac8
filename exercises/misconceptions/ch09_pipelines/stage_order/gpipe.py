"""GPipe."""

EARNS = "That is GPipe: it keeps"


def stage_order(p, m, stage):
    return [f"F{i}" for i in range(m)] + [f"B{i}" for i in reversed(range(m))]
