"""The additive objective."""

EARNS = "and the first one found wins"


def partition(seconds, p):
    N = len(seconds)
    upto = [sum(seconds[:i]) for i in range(N + 1)]
    best = {0: (0, [])}
    for r in range(1, p + 1):
        best = {
            i: min(
                ((total + upto[i] - upto[k], [*sizes, i - k]) for k, (total, sizes) in best.items() if k < i),
                key=lambda way: way[0],
            )
            for i in range(r, N + 1)
        }
    return best[N][1]
