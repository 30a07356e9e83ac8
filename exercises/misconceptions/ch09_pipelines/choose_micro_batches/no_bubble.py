"""m passes."""

import math

EARNS = "Without the bubble the fewest"


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    best = None
    for m in range(1, batch + 1):
        b = batch // m
        forward = fixed + b * slope
        if batch % m == 0 and alpha + b * beta <= forward and weights + min(m, p) * b * kept <= memory:
            best = min(best or (math.inf,), (m * forward, m))
    return best and best[1]
