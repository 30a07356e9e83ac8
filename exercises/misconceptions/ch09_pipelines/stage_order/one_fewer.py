"""One forward pass fewer before the turns."""

EARNS = "One forward pass too few"


def stage_order(p, m, stage):
    warmup = min(max(p - 2 - stage, 0), m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
