"""Stages may be empty."""

import math

EARNS = "A stage without layers does nothing"


def partition(seconds, p):
    N = len(seconds)
    upto = [sum(seconds[:i]) for i in range(N + 1)]
    best = {0: (-math.inf, [])}
    for _ in range(p):
        best = {
            i: min((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k <= i)
            for i in range(N + 1)
        }
    return best[N][1]
