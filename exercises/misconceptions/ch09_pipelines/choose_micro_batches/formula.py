"""The m of the formula, as near as it can be."""

import math

EARNS = "the best m if any number would do"


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    root, best = math.sqrt((p - 1) * batch * slope / fixed), None
    for m in range(1, batch + 1):
        b = batch // m
        hidden = alpha + b * beta <= fixed + b * slope
        if batch % m == 0 and hidden and weights + min(m, p) * b * kept <= memory:
            best = min(best or (math.inf, 0), (abs(m - root), m))
    return best and best[1]
