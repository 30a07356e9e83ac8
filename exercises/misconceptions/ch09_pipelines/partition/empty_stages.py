"""Stages may be empty."""

EARNS = "A stage without layers does nothing"


def partition(seconds, p):
    N, upto = len(seconds), [0]
    for each in seconds:
        upto.append(upto[-1] + each)
    best = {i: (upto[i], [i]) for i in range(N + 1)}
    for _ in range(p - 1):
        best = {
            i: min((max(best[k][0], upto[i] - upto[k]), [*best[k][1], i - k]) for k in range(i + 1))
            for i in range(N + 1)
        }
    return best[N][1]
