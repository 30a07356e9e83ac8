"""Compares the bytes only."""

import math

EARNS = "The latency alpha does not count here"


def choose_micro_batches(batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    best = None
    for m in range(1, batch + 1):
        b = batch // m
        forward = fixed + b * slope
        if batch % m == 0 and b * beta <= forward and weights + min(m, p) * b * kept <= memory:
            best = min(best or (math.inf,), ((m + p - 1) * forward, m))
    return best and best[1]
