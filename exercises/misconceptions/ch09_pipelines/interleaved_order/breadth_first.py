"""One group of all."""

EARNS = "that is breadth first"


def interleaved_order(p, m, v, rank):
    stages = range(rank, p * v, p)
    forward = [f"{s}F{i}" for s in stages for i in range(m)]
    backward = [f"{s}B{i}" for s in reversed(stages) for i in range(m)]
    warmup = min((v - 1) * p + 2 * (p - 1 - rank), m * v)
    order = forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        order += [f, b]
    return order + backward[m * v - warmup :]
