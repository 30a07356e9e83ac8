"""All forward passes first."""

EARNS = "All forward passes come first"


def stage_order(p, m, stage):
    warmup = m
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
