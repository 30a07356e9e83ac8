"""Takes turns from the beginning."""

EARNS = "Every stage takes turns from the beginning"


def stage_order(p, m, stage):
    warmup = 0
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
