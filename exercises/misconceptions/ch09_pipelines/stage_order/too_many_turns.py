"""m turns."""

EARNS = "Does a loop go too far?"


def stage_order(p, m, stage):
    warmup = min(p - 1 - stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
