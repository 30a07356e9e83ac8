"""Backward with the micro-batch that has just come forward."""

EARNS = "Of which micro-batch is the first gradient"


def stage_order(p, m, stage):
    warmup = min(p - 1 - stage, m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(warmup, m):
        order += [f"F{i}", f"B{i}"]
    return order + [f"B{i}" for i in range(warmup)]
