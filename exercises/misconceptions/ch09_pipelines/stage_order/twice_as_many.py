"""The warm-up of the interleaved schedule."""

EARNS = "Twice as many forward passes"


def stage_order(p, m, stage):
    warmup = min(2 * (p - 1 - stage), m)
    order = [f"F{i}" for i in range(warmup)]
    for i in range(m - warmup):
        order += [f"F{warmup + i}", f"B{i}"]
    return order + [f"B{i}" for i in range(m - warmup, m)]
