"""All m go round together in the warm-up."""

EARNS = "and not all m"


def interleaved_order(p, m, v, rank):
    stages = range(rank, p * v, p)
    forward = [f"{s}F{i}" for g in range(0, m, p) for s in stages for i in range(g, g + p)]
    backward = [f"{s}B{i}" for g in range(0, m, p) for s in reversed(stages) for i in range(g, g + p)]
    warmup = min((v - 1) * m + 2 * (p - 1 - rank), m * v)
    order = forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        order += [f, b]
    return order + backward[m * v - warmup :]
