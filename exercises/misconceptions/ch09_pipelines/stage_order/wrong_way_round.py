"""The last stage has the longest warm-up."""

EARNS = "which stage waits longest"


def stage_order(p, m, stage):
    warmup = min(stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
