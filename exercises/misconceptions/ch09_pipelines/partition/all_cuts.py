"""Tries all the ways to cut."""

import itertools

EARNS = "answer each once"


def partition(seconds, p):
    N, best = len(seconds), None
    for cuts in itertools.combinations(range(1, N), p - 1):
        ends = [0, *cuts, N]
        slowest = max(sum(seconds[a:b]) for a, b in itertools.pairwise(ends))
        if best is None or slowest < best[0]:
            best = slowest, [b - a for a, b in itertools.pairwise(ends)]
    return best[1]
