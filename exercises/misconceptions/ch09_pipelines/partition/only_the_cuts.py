"""Returns the p - 1 cuts."""

import math

EARNS = "p stages have p - 1 cuts"


def partition(seconds, p):
    N = len(seconds)
    upto = [sum(seconds[:i]) for i in range(N + 1)]
    best = {0: (-math.inf, [])}
    for r in range(1, p + 1):
        best = {
            i: min((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k < i)
            for i in range(r, N + 1)
        }
    sizes = best[N][1]
    return [sum(sizes[: r + 1]) for r in range(p - 1)]
