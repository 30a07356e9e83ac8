"""p forward passes first, on all stages."""

EARNS = "Every stage goes forward p times"


def stage_order(p, m, stage):
    warmup = min(p, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
