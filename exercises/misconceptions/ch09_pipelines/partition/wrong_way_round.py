"""Goes back from the last cut, and forgets to turn the list round."""

import math

EARNS = "the wrong way round"


def partition(seconds, p):
    n = len(seconds)
    pre = [0]
    for s in seconds:
        pre.append(pre[-1] + s)
    best = [math.inf] * (n + 1)
    best[0] = 0
    cut = []
    for k in range(p):
        new, where = [math.inf] * (n + 1), [0] * (n + 1)
        for j in range(k + 1, n + 1):
            for i in range(k, j):
                t = max(best[i], pre[j] - pre[i])
                if t < new[j]:
                    new[j], where[j] = t, i
        best = new
        cut.append(where)
    sizes, j = [], n
    for where in reversed(cut):
        sizes.append(j - where[j])
        j = where[j]
    return sizes
