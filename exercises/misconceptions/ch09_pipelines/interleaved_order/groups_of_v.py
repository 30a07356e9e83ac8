"""Groups of as many micro-batches as a rank has stages."""

EARNS = "The groups have v micro-batches"


def interleaved_order(p, m, v, rank):
    stages = range(rank, p * v, p)
    forward = [f"{s}F{i}" for g in range(0, m, v) for s in stages for i in range(g, min(g + v, m))]
    backward = [f"{s}B{i}" for g in range(0, m, v) for s in reversed(stages) for i in range(g, min(g + v, m))]
    warmup = min((v - 1) * p + 2 * (p - 1 - rank), m * v)
    order = forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        order += [f, b]
    return order + backward[m * v - warmup :]
