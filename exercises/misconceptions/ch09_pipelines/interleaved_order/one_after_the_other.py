"""Each micro-batch through all stages of the rank."""

EARNS = "goes through all stages of the rank before the next"


def interleaved_order(p, m, v, rank):
    stages = range(rank, p * v, p)
    forward = [f"{s}F{i}" for i in range(m) for s in stages]
    backward = [f"{s}B{i}" for i in range(m) for s in reversed(stages)]
    warmup = min((v - 1) * p + 2 * (p - 1 - rank), m * v)
    order = forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        order += [f, b]
    return order + backward[m * v - warmup :]
