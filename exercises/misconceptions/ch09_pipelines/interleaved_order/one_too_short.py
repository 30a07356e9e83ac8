"""One forward pass fewer in the warm-up."""

EARNS = "one forward pass too early"


def interleaved_order(p, m, v, rank):
    forward = [f"{rank + c * p}F{i}" for g in range(0, m, p) for c in range(v) for i in range(g, g + p)]
    backward = [f"{rank + c * p}B{i}" for g in range(0, m, p) for c in reversed(range(v)) for i in range(g, g + p)]
    warmup = min((v - 1) * p + 2 * (p - 1 - rank) - 1, m * v)
    order = forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        order += [f, b]
    return order + backward[m * v - warmup :]
