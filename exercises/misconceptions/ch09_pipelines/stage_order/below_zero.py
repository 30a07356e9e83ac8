"""One forward pass fewer before the turns: on the last stage there are fewer than none."""

EARNS = "is below 0 here"


def stage_order(p, m, stage):
    warmup = min(p - 2 - stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
