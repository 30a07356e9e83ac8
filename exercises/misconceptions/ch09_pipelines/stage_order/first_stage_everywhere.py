"""Every stage as the first one."""

EARNS = "as often as the first one does"


def stage_order(p, m, stage):
    warmup = min(p - 1, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
