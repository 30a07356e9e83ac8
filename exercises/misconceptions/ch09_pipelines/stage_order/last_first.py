"""The rest in reverse order."""

EARNS = "come in reverse order"


def stage_order(p, m, stage):
    warmup = min(p - 1 - stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in reversed(range(m - warmup, m))]
