"""Goes backward first."""

EARNS = "In its turns a stage goes forward first"


def stage_order(p, m, stage):
    warmup = min(p - 1 - stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"B{i}", f"F{warmup + i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
