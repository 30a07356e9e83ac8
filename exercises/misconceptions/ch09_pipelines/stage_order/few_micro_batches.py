"""More forward passes than there are micro-batches."""

EARNS = "There are fewer micro-batches than stages"


def stage_order(p, m, stage):
    warmup = p - 1 - stage
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
