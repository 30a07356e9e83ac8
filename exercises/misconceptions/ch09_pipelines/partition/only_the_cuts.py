"""Returns the p - 1 cuts."""

EARNS = "p stages have p - 1 cuts"


def partition(seconds, p):
    N, upto = len(seconds), [0]
    for each in seconds:
        upto.append(upto[-1] + each)
    best = {i: (upto[i], [i]) for i in range(1, N + 1)}
    for r in range(2, p + 1):
        best = {
            i: min((max(best[k][0], upto[i] - upto[k]), [*best[k][1], i - k]) for k in range(r - 1, i))
            for i in range(r, N + 1)
        }
    sizes = best[N][1]
    return [sum(sizes[: r + 1]) for r in range(p - 1)]
