"""Returns the seconds of the slowest stage."""

import math

EARNS = "Return a list of p whole numbers"


def partition(seconds, p):
    N = len(seconds)
    upto = [sum(seconds[:i]) for i in range(N + 1)]
    best = {0: (-math.inf, [])}
    for r in range(1, p + 1):
        best = {
            i: min((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k < i)
            for i in range(r, N + 1)
        }
    return best[N][0]
