"""Does not ask for the messages."""

import math

EARNS = "The messages are not hidden"


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    best = None
    for m in range(1, batch + 1):
        b = batch // m
        forward = fixed + b * slope
        if batch % m == 0 and weights + min(m, p) * b * kept <= memory:
            best = min(best or (math.inf,), ((m + p - 1) * forward, m))
    return best and best[1]
